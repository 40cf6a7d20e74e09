// A stand-in for the widget's model, for the gallery and the unit tests: it answers hello, keeps what was sent, and says what it is told to.

import type { Model } from "../src/model";
import type { Json } from "../src/types";

type Callback = (...args: never[]) => void;

export class FakeModel implements Model {
  readonly sent: { [key: string]: Json }[] = [];
  alive = true;
  private readonly listeners = new Map<string, Set<Callback>>();

  constructor(
    public state: Json,
    public revision = 1,
    private readonly answers = true,
  ) {}

  get(key: string): unknown {
    return key === "state" ? this.state : this.revision;
  }

  on(event: string, callback: Callback): void {
    const set = this.listeners.get(event) ?? new Set();
    this.listeners.set(event, set.add(callback));
  }

  off(event?: string | null, callback?: Callback | null): void {
    if (event != null && callback != null) this.listeners.get(event)?.delete(callback);
  }

  send(content: unknown): void {
    if (!this.alive) throw new Error("Cannot send");
    const message = content as { [key: string]: Json };
    this.sent.push(message);
    if (this.answers && (message.kind === "hello" || message.kind === "whole")) this.say({ kind: "whole", revision: this.revision, state: this.state });
  }

  /** What the kernel says. */
  say(content: Json): void {
    this.emit("msg:custom", content);
  }

  patch(ops: Json): void {
    this.revision += 1;
    this.say({ kind: "patch", revision: this.revision, ops });
  }

  /** The kernel dies, as a front end notices it. */
  die(): void {
    this.alive = false;
    this.emit("comm_live_update");
  }

  emit(event: string, ...args: unknown[]): void {
    for (const callback of [...(this.listeners.get(event) ?? [])]) callback(...(args as never[]));
  }

  commands(): { [key: string]: Json }[] {
    return this.sent.filter((message) => message.kind === "command");
  }

  get heard(): number {
    return [...this.listeners.values()].reduce((sum, set) => sum + set.size, 0);
  }
}

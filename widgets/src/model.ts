// The connection between one view and its kernel: the only place that talks to the widget's model.
//
// - A view greets its kernel and offers nothing before the answer: a saved picture has a model too, and looks alive.
// - Patches apply in order; one that does not follow is dropped and the whole is asked for, once.
// - A command has an id of this view's own and gets exactly one outcome, also when the kernel goes away first.
//
// Protocol: workbench/widgets/base.py.

import { apply, type Op } from "./patch";
import type { Json } from "./types";

/** What the front end's widget manager gives: anywidget's proxy of the model. */
export interface Model {
  get(key: string): unknown;
  on(event: string, callback: (...args: never[]) => void): void;
  off(event?: string | null, callback?: ((...args: never[]) => void) | null): void;
  send(content: unknown): void;
}

export type Phase = "greeting" | "live" | "gone";
export type Outcome = { ok: Json } | { error: string };

const PATIENCE = 3000;

export const GONE = "The kernel is gone; nothing is known of this command. Start a kernel and look at the journal";

export class Connection<View> {
  view: View | null;
  phase: Phase = "greeting";
  /** When the kernel went away, in local milliseconds. */
  goneAt: number | null = null;
  /** Why the kernel could not make the view, when it could not. */
  failure: string | null = null;
  /** Whether the kernel has let a greeting wait for too long: it is busy in a cell, or this is a saved picture. */
  late = false;
  /** How far the kernel's clock is ahead of this one, in seconds. */
  ahead = 0;

  private revision: number;
  private asked = false;
  private patience: ReturnType<typeof setTimeout> | null = null;
  private counter = 0;
  private readonly prefix = Math.random().toString(36).slice(2, 10);
  private readonly waiting = new Map<string, (outcome: Outcome) => void>();
  private readonly listeners = new Set<() => void>();
  private readonly undo: (() => void)[] = [];

  constructor(
    private readonly model: Model,
    private readonly localNow: () => number = Date.now,
  ) {
    this.view = null;
    this.revision = 0;
    this.listen("msg:custom", (content: Json) => this.heard(content));
    this.listen("change:state", () => this.takeTraits());
    this.listen("comm_live_update", () => this.greet());
    this.listen("comm:close", () => this.lose());
    this.listen("destroy", () => this.lose());
    this.takeTraits();
    this.greet();
  }

  /** The kernel's time, in UTC seconds; it stands still once the kernel is gone. */
  now(): number {
    return (this.goneAt ?? this.localNow()) / 1000 + this.ahead;
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Send a command; gives its one outcome. */
  command(command: string, args: { [key: string]: Json }): Promise<Outcome> {
    if (this.phase !== "live") return Promise.resolve({ error: GONE });
    const id = `${this.prefix}-${(this.counter += 1)}`;
    return new Promise((resolve) => {
      this.waiting.set(id, resolve);
      if (!this.send({ id, kind: "command", command, args })) this.settle(id, { error: GONE });
    });
  }

  close(): void {
    this.wait(false);
    for (const undo of this.undo.splice(0)) undo();
    this.listeners.clear();
  }

  private listen(event: string, callback: (...args: never[]) => void): void {
    this.model.on(event, callback);
    this.undo.push(() => this.model.off(event, callback));
  }

  private greet(): void {
    this.asked = true;
    this.wait(true);
    if (this.send({ kind: "hello" }) && this.phase === "gone") {
      this.phase = "greeting";
      this.goneAt = null;
      this.tell();
    }
  }

  private wait(on: boolean): void {
    if (this.patience !== null) clearTimeout(this.patience);
    this.patience = on ? setTimeout(() => this.grow(), PATIENCE) : null;
    if (!on) this.late = false;
  }

  private grow(): void {
    this.late = this.phase === "greeting";
    this.tell();
  }

  private send(content: Json): boolean {
    try {
      this.model.send(content);
      return true;
    } catch {
      this.lose();
      return false;
    }
  }

  private lose(): void {
    if (this.phase === "gone") return;
    this.wait(false);
    this.phase = "gone";
    this.goneAt = this.localNow();
    for (const id of [...this.waiting.keys()]) this.settle(id, { error: GONE });
    this.tell();
  }

  private heard(content: Json): void {
    if (content === null || typeof content !== "object" || Array.isArray(content)) return;
    if (content.kind === "patch") this.takePatch(content.revision as number, content.ops as unknown as Op[]);
    else if (content.kind === "whole") this.takeWhole(content.revision as number, content.state as Json, true);
    else if (content.kind === "failed") this.fail(String(content.error));
    else if (content.kind === "reply") this.settle(String(content.id), "error" in content ? { error: String(content.error) } : { ok: content.ok ?? null });
  }

  private takeTraits(): void {
    const state = this.model.get("state") as Json;
    if (state !== null && typeof state === "object" && Object.keys(state).length > 0) {
      this.takeWhole(Number(this.model.get("revision")), state, false);
    }
  }

  private takeWhole(revision: number, state: Json, answered: boolean): void {
    if (answered) {
      this.wait(false);
      this.asked = false;
      this.phase = "live";
      this.goneAt = null;
    }
    if (revision >= this.revision || answered) {
      this.revision = revision;
      this.show(state);
    }
  }

  private takePatch(revision: number, ops: Op[]): void {
    if (revision <= this.revision || this.view === null) return;
    if (revision !== this.revision + 1) return this.askWhole();
    try {
      this.show(apply(this.view as Json, ops));
      this.revision = revision;
    } catch {
      this.askWhole(); // what is held is not what the kernel compared with
    }
  }

  private askWhole(): void {
    if (this.asked) return;
    this.asked = true;
    this.send({ kind: "whole" });
  }

  private show(state: Json): void {
    this.view = state as View;
    this.failure = null;
    const now = (state as { now?: unknown }).now;
    if (typeof now === "number") this.ahead = now - this.localNow() / 1000;
    this.tell();
  }

  private fail(error: string): void {
    this.failure = error;
    this.tell();
  }

  private settle(id: string, outcome: Outcome): void {
    const resolve = this.waiting.get(id);
    if (resolve === undefined) return; // another view's
    this.waiting.delete(id);
    resolve(outcome);
  }

  private tell(): void {
    for (const listener of [...this.listeners]) listener();
  }
}

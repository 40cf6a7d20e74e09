// A page for unit tests: happy-dom's window as the globals that views use, and ways to wait for what was drawn.

import { Window } from "happy-dom";
import { h, render } from "preact";
import { act } from "preact/test-utils";
import { FakeModel } from "../gallery/fake";
import { Connection } from "../src/model";
import type { Json } from "../src/types";

const window = new Window({ url: "http://localhost/" });
for (const name of ["document", "HTMLElement", "Element", "Node", "Text", "sessionStorage", "CSS", "KeyboardEvent", "Event", "MouseEvent", "Blob"] as const) {
  Object.defineProperty(globalThis, name, { value: window[name as keyof Window], configurable: true, writable: true });
}
Object.defineProperty(globalThis, "window", { value: window, configurable: true });
Object.defineProperty(globalThis, "requestAnimationFrame", { value: (callback: () => void) => setTimeout(callback, 0), configurable: true });
Object.defineProperty(globalThis, "cancelAnimationFrame", { value: clearTimeout, configurable: true });

export const NOW = { seconds: 0 };
// What is drawn names the day of an instant that is not of today, so today is the day of the shown state.
Date.now = () => NOW.seconds * 1000;

export interface Shown {
  page: HTMLElement;
  model: FakeModel;
  connection: Connection<never>;
  /** The text of a part, or of everything. */
  text(selector?: string): string;
  button(label: string, nth?: number): HTMLButtonElement;
  press(label: string, nth?: number): Promise<void>;
  say(content: Json): Promise<void>;
  patch(ops: Json): Promise<void>;
  key(key: string, on?: Element): Promise<void>;
  type(input: Element, text: string): Promise<void>;
  close(): void;
}

/** A view over a state, drawn on a page of its own. */
export async function show<View>(
  panel: (props: { connection: Connection<View> }) => unknown,
  state: unknown,
  options: { answers?: boolean; now?: number } = {},
): Promise<Shown> {
  const page = document.createElement("div");
  document.body.append(page);
  const model = new FakeModel(structuredClone(state) as Json, 1, options.answers ?? true);
  NOW.seconds = options.now ?? (state as { now: number }).now;
  const connection = new Connection<View>(model, () => NOW.seconds * 1000);
  await act(() => render(h(panel as never, { connection } as never), page));
  const button = (label: string, nth = 0): HTMLButtonElement => {
    const found = [...page.querySelectorAll("button")].filter((one) => (one.textContent ?? "").startsWith(label))[nth];
    if (found === undefined) throw new Error(`no button ${label}; there are ${[...page.querySelectorAll("button")].map((one) => one.textContent).join(" | ")}`);
    return found;
  };
  return {
    page,
    model,
    connection: connection as unknown as Connection<never>,
    text: (selector) => (selector === undefined ? page : (page.querySelector(selector) as HTMLElement)).textContent ?? "",
    button,
    press: (label, nth) => act(() => button(label, nth).click()) as Promise<void>,
    say: (content) => act(() => model.say(content)) as Promise<void>,
    patch: (ops) => act(() => model.patch(ops)) as Promise<void>,
    key: (key, on) =>
      act(() => {
        (on ?? document.activeElement ?? page).dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
      }) as Promise<void>,
    type: (input, text) =>
      act(() => {
        (input as HTMLInputElement).value = text;
        input.dispatchEvent(new Event("input", { bubbles: true }));
      }) as Promise<void>,
    close: () => {
      void act(() => render(null, page));
      connection.close();
      page.remove();
    },
  };
}

/** Let everything that is ready happen: promises, timers of zero, and what they draw. */
export async function settle(): Promise<void> {
  await act(async () => {
    for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  });
}

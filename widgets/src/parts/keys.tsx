// Keys, only inside a panel: J and K move, Enter opens, Esc closes, ? lists them. What is typed here never reaches Lab.
// No single key kills, discards or approves from outside a card; A, E and R belong to a focused card (card.tsx).

import type { JSX, RefObject } from "preact";
import { useEffect } from "preact/hooks";

const OURS = new Set(["j", "k", "a", "e", "r", "?", "Enter", "Escape", " ", "ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"]);

/** Handles the panel's keys, and keeps them and everything typed into a field from the notebook's shortcuts. */
export function useKeys(root: RefObject<HTMLElement | null>, actions: { onList(): void; onLeave(): void }): void {
  useEffect(() => {
    const element = root.current;
    if (element === null) return undefined;
    const page = element.ownerDocument.defaultView;
    const guard = (event: KeyboardEvent): void => {
      const target = event.target as Element | null;
      const inside = target !== null && element.contains(target);
      if (inside && (isField(target) || (!modified(event) && OURS.has(event.key)))) element.setAttribute("data-lm-suppress-shortcuts", "true");
      else element.removeAttribute("data-lm-suppress-shortcuts");
    };
    const handle = (event: KeyboardEvent): void => {
      const target = event.target as Element;
      if (isField(target)) {
        if (!modified(event)) event.stopPropagation();
        return;
      }
      if (modified(event)) return;
      if (event.key === "j" || event.key === "k") step(element, event.key === "j" ? 1 : -1);
      else if (event.key === "?") actions.onList();
      else if (event.key === "Escape") actions.onLeave();
      else {
        if (OURS.has(event.key)) event.stopPropagation();
        return;
      }
      event.stopPropagation();
      event.preventDefault();
    };
    page?.addEventListener("keydown", guard, true);
    element.addEventListener("keydown", handle);
    return () => {
      page?.removeEventListener("keydown", guard, true);
      element.removeEventListener("keydown", handle);
    };
  }, []);
}

function modified(event: KeyboardEvent): boolean {
  return event.ctrlKey || event.metaKey || event.altKey;
}

function isField(target: Element): boolean {
  return target.matches("textarea, select, input:not([type=checkbox])");
}

/** Focus the next or previous place where J and K stop. */
function step(root: HTMLElement, by: 1 | -1): void {
  const stops = Array.from(root.querySelectorAll<HTMLElement>("[data-wb-stop]"));
  const active = root.ownerDocument.activeElement;
  const at = stops.findLastIndex((stop) => stop === active || stop.contains(active));
  const next = at === -1 ? (by === 1 ? 0 : stops.length - 1) : at + by;
  stops[Math.min(stops.length - 1, Math.max(0, next))]?.focus();
}

const LIST: [string, string][] = [
  ["J, K", "next and previous row or card"],
  ["Enter, →", "open"],
  ["Esc, ←", "close or go back"],
  ["A, E, R", "on a card: approve, edit, reject"],
  ["?", "this list"],
];

export function KeyList(): JSX.Element {
  return (
    <dl class="wb-keys">
      {LIST.map(([keys, what]) => (
        <div key={keys}>
          <dt>
            {keys.split(", ").map((key) => (
              <kbd key={key} class="wb-cap">
                {key}
              </kbd>
            ))}
          </dt>
          <dd>{what}</dd>
        </div>
      ))}
    </dl>
  );
}

// The shapes: one drawing per status, 12 px, 1.5 px strokes, beside its word. A shape is never the only sign of a status.

import type { ComponentChildren, JSX } from "preact";
import { capital } from "./words";

export type Ink = "grey" | "blue" | "amber" | "green" | "red" | "violet" | "plain";

const line = { fill: "none", stroke: "currentColor", "stroke-width": 1.5 } as const;
const CHECK = <path d="M2.2 6.6 4.8 9.2 9.9 3.2" {...line} stroke-width="1.8" />;
const BARRED = (
  <g {...line}>
    <circle cx="6" cy="6" r="4.7" />
    <path d="M3.8 6h4.4" />
  </g>
);
const AGAIN = (
  <g {...line}>
    <path d="M9.9 7.4A4.3 4.3 0 1 1 9.4 3.3" />
    <path d="M10 1v2.9H7" />
  </g>
);

const DRAWINGS: Record<string, JSX.Element> = {
  ring: <circle cx="6" cy="6" r="4.7" {...line} stroke-dasharray="1.6 1.68" />,
  turning: (
    <g class="wb-turn">
      <circle cx="6" cy="6" r="4.6" {...line} stroke-width="1.7" opacity=".3" />
      <path d="M6 1.4A4.6 4.6 0 1 1 1.4 6" {...line} stroke-width="1.7" />
      <circle cx="6" cy="6" r="1.6" fill="currentColor" />
    </g>
  ),
  diamond: <path d="M6 .6 11.4 6 6 11.4.6 6z" fill="currentColor" />,
  disc: (
    <g>
      <circle cx="6" cy="6" r="5.5" fill="currentColor" />
      <path d="M3.4 6.2 5.3 8.1 8.7 4.2" {...line} stroke="var(--wb-paper)" />
    </g>
  ),
  octagon: (
    <g>
      <path d="M3.7.5h4.6l3.2 3.2v4.6l-3.2 3.2H3.7L.5 8.3V3.7z" fill="currentColor" />
      <path d="m4.2 4.2 3.6 3.6M7.8 4.2 4.2 7.8" {...line} stroke="var(--wb-paper)" />
    </g>
  ),
  slashed: (
    <g {...line}>
      <circle cx="6" cy="6" r="4.7" />
      <path d="M9.2 2.8 2.8 9.2" />
    </g>
  ),
  broken: (
    <g {...line}>
      <path d="M3.4 1.7A5 5 0 0 0 3.4 10.3M8.6 1.7A5 5 0 0 1 8.6 10.3" />
      <path d="M6.9 2.6 4.6 6.2h2.8L5.1 9.6" stroke-width="1.2" />
    </g>
  ),
  check: CHECK,
  edited: (
    <g {...line}>
      <path d="M2.6 4.8 4.9 7.1 9.4 1.6" />
      <path d="M1.4 10.7h9.2" />
    </g>
  ),
  barred: BARRED,
  again: AGAIN,
  speech: <path d="M1.2 2h9.6v6.4H6L3.4 10.8V8.4H1.2z" {...line} stroke-linejoin="round" />,
  hourglass: <path d="M1.8 1.2h8.4M1.8 10.8h8.4M2.8 1.2c0 3 6.4 6.6 6.4 9.6M9.2 1.2c0 3-6.4 6.6-6.4 9.6" {...line} stroke-width="1.4" />,
  dash: <path d="M2.2 6h7.6" {...line} />,
  squares: (
    <g {...line} stroke-width="1.3">
      <path d="M4.6 4.6h6.2v6.2H4.6z" />
      <path d="M1.2 1.2h6.2v2M1.2 1.2v6.2h2" stroke-dasharray="1.4 1.1" />
    </g>
  ),
  replayed: <path d="M6 2.2 2.2 6 6 9.8M10.4 2.2 6.6 6l3.8 3.8" {...line} />,
  crossed: (
    <g {...line}>
      <path d="M1.4 1.4h9.2v9.2H1.4z" />
      <path d="m4.1 4.1 3.8 3.8M7.9 4.1 4.1 7.9" />
    </g>
  ),
  triangle: <path d="M6 1.6 11.2 10.4H.8z" fill="currentColor" />,
  elsewhere: <path d="M5 2H1.6v8.4H10V7M6.6 1.4h4v4M10.4 1.6 5.6 6.4" {...line} />,
  message: <path d="M2.2 1.4 10.4 6l-8.2 4.6z" fill="currentColor" />,
  square: <path d="M1.8 1.8h8.4v8.4H1.8z" {...line} />,
  commit: (
    <g>
      <circle cx="6" cy="6" r="3" fill="currentColor" />
      <path d="M6 .4v11.2" {...line} stroke-width="1.3" />
    </g>
  ),
  answer: <path d="M9.6 1.8 2.2 6l7.4 4.2z" {...line} />,
  unplugged: <path d="M.6 6h3M8.4 6h3M4 3.4v5.2M8 3.4v5.2M4 4.6h1.4M4 7.4h1.4M6.6 4.6H8M6.6 7.4H8" {...line} stroke-width="1.3" />,
  search: (
    <g {...line}>
      <circle cx="5" cy="5" r="3.4" />
      <path d="m7.6 7.6 3 3" />
    </g>
  ),
  right: <path d="m4 2.4 3.8 3.6L4 9.6" {...line} />,
  down: <path d="m2.4 4 3.6 3.8L9.6 4" {...line} />,
};

const STATUSES: Record<string, [string, Ink]> = {
  queued: ["ring", "grey"],
  starting: ["ring", "grey"],
  running: ["turning", "blue"],
  waiting: ["diamond", "amber"],
  pending: ["diamond", "amber"],
  completed: ["disc", "green"],
  done: ["disc", "green"],
  failed: ["octagon", "red"],
  crashed: ["octagon", "red"],
  cancelled: ["slashed", "grey"],
  killed: ["broken", "violet"],
  disposed: ["broken", "violet"],
  interrupted: ["broken", "violet"],
  lost: ["broken", "violet"],
  fenced: ["broken", "violet"],
  success: ["check", "green"],
  approved: ["check", "green"],
  edited: ["edited", "green"],
  denied: ["barred", "grey"],
  rejected: ["barred", "grey"],
  retried: ["again", "grey"],
  restarting: ["again", "grey"],
  "runs again": ["again", "blue"],
  answered: ["speech", "green"],
  expired: ["hourglass", "grey"],
  dismissed: ["dash", "grey"],
  superseded: ["squares", "grey"],
  replayed: ["replayed", "violet"],
  "still waits": ["diamond", "amber"],
  asleep: ["turning", "blue"],
  elsewhere: ["elsewhere", "grey"],
  changed: ["triangle", "blue"],
  unplugged: ["unplugged", "violet"],
};

/** The drawing and ink of a status word; a word that is not known is a dotted ring. */
export function drawingOf(status: string): [string, Ink] {
  return STATUSES[status] ?? ["ring", "grey"];
}

/** A drawing by its name. */
export function Drawing({ name, ink = "plain" }: { name: string; ink?: Ink }): JSX.Element {
  return (
    <svg class={`wb-shape wb-ink-${ink}`} viewBox="0 0 12 12" width="12" height="12" aria-hidden="true" focusable="false">
      {DRAWINGS[name]}
    </svg>
  );
}

/** The shape of a status. */
export function Shape({ status }: { status: string }): JSX.Element {
  const [name, ink] = drawingOf(status);
  return <Drawing name={name} ink={ink} />;
}

/** A status: its shape and its word. `says` replaces the word where more is known ("Running, killed"). */
export function Status(props: { status: string; says?: ComponentChildren; strong?: boolean }): JSX.Element {
  const [, ink] = drawingOf(props.status);
  return (
    <span class={`wb-status wb-ink-${ink}${props.strong ? " wb-strong" : ""}`}>
      <Shape status={props.status} />
      <span>{props.says ?? capital(props.status)}</span>
    </span>
  );
}

// The timeline: rows in order of time beside one axis. Its height stands still while the run is live, and it follows the
// newest row as long as the reader is at the end.

import type { JSX } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { Connection, Outcome } from "../model";
import { makeAxis } from "../parts/axis";
import { AxisHead, Grid } from "../parts/bars";
import type { Folds } from "../parts/live";
import type { RunView } from "../types";
import { FoldedTurns, type RowContext, TimelineRow } from "./rows";
import { gather, isOpen } from "./rules";

interface TimelineProps {
  view: RunView;
  until: number;
  connection: Connection<unknown>;
  live: boolean;
  gone: boolean;
  killed: boolean;
  fixed: boolean;
  folds: Folds;
  onBelow(count: number): void;
  onDecided(outcome: Outcome): void;
}

const AT_END = 24;
const HEIGHT = 380;
const AROUND = 80; // the axis, the card's row and its margins

export function Timeline(props: TimelineProps): JSX.Element {
  const { view, until, folds } = props;
  const ended = view.ended_at !== null;
  const box = useRef<HTMLDivElement>(null);
  const opened = useRef(new Set<string>());
  const following = useRef(true);
  const seen = useRef(view.rows.length);
  const spans = view.rows.flatMap((row) => (row.kind === "call" ? [...row.spans, ...row.steps.flatMap((step) => step.spans)] : row.spans));
  const axis = makeAxis(view.began_at, until, spans, view.lives);
  const parts = useMemo(() => gather(view.rows), [view.rows]);
  const context: RowContext = {
    axis,
    now: until,
    connection: props.connection,
    live: props.live,
    gone: props.gone,
    ended,
    began: view.began_at,
    folds,
    onDecided: (_, outcome) => props.onDecided(outcome),
  };
  for (const row of view.rows) if (row.kind === "call" && isOpen(row, view, opened.current)) opened.current.add(row.id);

  const scrolled = (): void => {
    const element = box.current as HTMLDivElement;
    following.current = element.scrollHeight - element.scrollTop - element.clientHeight <= AT_END;
    if (following.current) {
      seen.current = view.rows.length;
      props.onBelow(0);
    }
  };
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const card = element.querySelector<HTMLElement>("[data-wb-card]");
    element.style.height = props.fixed && card !== null ? `${Math.max(HEIGHT, card.offsetHeight + AROUND)}px` : "";
    if (!props.fixed) return;
    if (following.current) {
      element.scrollTop = element.scrollHeight;
      seen.current = view.rows.length;
    } else {
      props.onBelow(Math.max(0, view.rows.length - seen.current));
    }
  }, [view, props.fixed]);

  const draw = (row: RunView["rows"][number], index: number): JSX.Element => (
    <TimelineRow key={row.id} row={row} index={index} open={row.kind === "call" && folds.is(row.id, isOpen(row, view, opened.current))} context={context} />
  );
  return (
    <div class={`wb-timeline${props.fixed ? " wb-timeline-fixed" : ""}`} ref={box} onScroll={scrolled} role="group" aria-label="Timeline" tabIndex={props.fixed ? 0 : -1}>
      <AxisHead axis={axis} />
      <div class="wb-rows">
        <Grid axis={axis} now={ended || props.killed || props.gone ? null : until} />
        {parts.map((part) => {
          if (part.kind === "row") return draw(part.row, part.index);
          const open = folds.is(part.id, false);
          return (
            <div key={part.id}>
              <FoldedTurns rows={part.rows.map(({ row }) => row)} open={open} context={context} onToggle={() => folds.set(part.id, !open)} />
              {open && part.rows.map(({ row, index }) => draw(row, index))}
            </div>
          );
        })}
      </div>
    </div>
  );
}

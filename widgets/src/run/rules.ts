// Who speaks in a row, which are open by themselves, and which finished ones stand in one line. Pure, so that it can be tested alone.

import type { CallRow, MessageRow, Row, RunView } from "../types";

/** Whether a call is unfolded when the reader has not said: while it runs or waits, until the run ends; then what needs reading. */
export function isOpen(row: CallRow, view: RunView, opened: ReadonlySet<string>): boolean {
  if (row.approval?.status === "pending" || row.status === "running") return true;
  if (row.status === "failed" && row.error !== null) return true;
  if (row.steps.some((step) => step.ran_again)) return true;
  return view.ended_at === null && opened.has(row.id);
}

/** Who says a message. */
export function speaker(row: MessageRow): string {
  return row.who === "you" ? (row.asker ?? "You") : row.who;
}

export type Part = { kind: "row"; row: Row; index: number } | { kind: "folded"; id: string; rows: { row: Row; index: number }[] };

const ENOUGH = 4;

/** The rows in order, with finished turns before the present one gathered where that saves lines. */
export function gather(rows: readonly Row[], enough = ENOUGH): Part[] {
  const present = Math.max(0, ...rows.map((row) => row.turn));
  const parts: Part[] = [];
  let quiet: { row: Row; index: number }[] = [];
  const flush = (): void => {
    const turns = quiet.filter(({ row }) => row.kind === "message").length;
    const first = quiet[0];
    if (first !== undefined && quiet.length >= enough && turns > 0 && turns < quiet.length) parts.push({ kind: "folded", id: `turns ${first.row.id}`, rows: quiet });
    else parts.push(...quiet.map(({ row, index }) => ({ kind: "row" as const, row, index })));
    quiet = [];
  };
  rows.forEach((row, index) => {
    const before = quiet[quiet.length - 1]?.row;
    if (before !== undefined && before.replayed !== row.replayed) flush();
    if (isQuiet(row, present)) quiet.push({ row, index });
    else {
      flush();
      parts.push({ kind: "row", row, index });
    }
  });
  flush();
  return parts;
}

function isQuiet(row: Row, present: number): boolean {
  if (row.kind === "message") return row.who !== "you" && !row.streaming && row.turn < present && typeof row.text === "string" && row.text.length < 400;
  const whole = row.steps.every((step) => step.replayed === row.replayed && !step.ran_again);
  return row.status === "success" && row.approval === null && whole && row.spans.every((span) => span.ended_at !== null && span.how !== "cut");
}

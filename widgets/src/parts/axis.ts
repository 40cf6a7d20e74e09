// The time axis: where an instant lies in the lane. Scales are fixed and change in one step; a wait longer than the limit
// is cut, so that a night of waiting does not push the work of a minute into one pixel. Positions are fractions of the lane.

import type { Life, Span } from "../types";
import { elapsed } from "./words";

export interface Axis {
  /** Where an instant lies, 0 to 1. */
  at(instant: number): number;
  ticks: { at: number; label: string }[];
  /** Where waiting was cut out. */
  gaps: number[];
  /** Where nobody was alive: between a life and the next. */
  bands: { from: number; to: number; how: string }[];
  began: number;
  /** Equal for equal axes, so that rows know when to draw again. */
  mark: string;
}

const SCALES: [number, number][] = [
  [20, 5], [40, 10], [60, 15], [120, 30], [300, 60], [600, 120], [1200, 300], [2400, 600],
  [3600, 900], [7200, 1800], [18_000, 3600], [36_000, 7200], [86_400, 21_600],
];

/** The scale that holds `seconds`, and the distance of its marks. */
export function scaleFor(seconds: number): [number, number] {
  const fixed = SCALES.find(([scale]) => seconds <= scale);
  if (fixed !== undefined) return fixed;
  let scale = 86_400;
  while (scale < seconds) scale *= 2;
  return [scale, scale / 4];
}

interface Piece {
  from: number;
  to: number;
  shown: number;
  length: number;
}

export function makeAxis(began: number, until: number, spans: readonly Span[], lives: readonly Life[]): Axis {
  const end = Math.max(until, began);
  const work = merge(spans.filter((span) => span.how !== "waiting").map((span) => [span.began_at, span.ended_at ?? end]));
  const busy = work.reduce((sum, [from, to]) => sum + to - from, 0);
  const limit = Math.max(20, scaleFor(busy)[0] / 4);
  const pieces = cut(began, end, work, limit);
  const last = pieces[pieces.length - 1] as Piece;
  const [scale, step] = scaleFor(last.shown + last.length);
  const at = (instant: number): number => {
    const piece = pieces.find((one) => instant <= one.to) ?? last;
    const part = piece.to > piece.from ? (instant - piece.from) / (piece.to - piece.from) : 0;
    return clamp((piece.shown + clamp(part) * piece.length) / scale);
  };
  const compressed = pieces.filter((piece) => piece.to - piece.from > piece.length + 0.5);
  const ticks = Array.from({ length: Math.round(scale / step) + 1 }, (_, index) => {
    const shown = index * step;
    const hidden = compressed.some((piece) => shown > piece.shown && shown < piece.shown + piece.length);
    return { at: shown / scale, label: hidden ? "" : index === 0 ? "0" : elapsed(realAt(pieces, shown) - began) };
  });
  return {
    at,
    ticks,
    gaps: compressed.map((piece) => (piece.shown + piece.length / 2) / scale),
    bands: lives.slice(1).flatMap((life, index) => {
      const before = lives[index] as Life;
      return before.ended_at === null ? [] : [{ from: at(before.ended_at), to: at(life.began_at), how: before.how ?? "lost" }];
    }),
    began,
    mark: [began, scale, ...pieces.flatMap((piece) => [piece.from, piece.length < limit && piece === last ? "" : piece.shown])].join(" "),
  };
}

function clamp(value: number): number {
  return Math.min(1, Math.max(0, value));
}

function merge(intervals: [number, number][]): [number, number][] {
  const merged: [number, number][] = [];
  for (const [from, to] of intervals.sort((one, other) => one[0] - other[0])) {
    const before = merged[merged.length - 1];
    if (before !== undefined && from <= before[1]) before[1] = Math.max(before[1], to);
    else merged.push([from, to]);
  }
  return merged;
}

/** The time from `began` to `end` as pieces, idle ones no longer than `limit`. */
function cut(began: number, end: number, work: [number, number][], limit: number): Piece[] {
  const pieces: Piece[] = [];
  let shown = 0;
  let from = began;
  const add = (to: number, longest: number): void => {
    if (to <= from) return;
    const length = Math.min(to - from, longest);
    pieces.push({ from, to, shown, length });
    shown += length;
    from = to;
  };
  for (const [start, stop] of work) {
    add(Math.min(start, end), limit);
    add(Math.min(stop, end), Number.POSITIVE_INFINITY);
  }
  add(end, limit);
  return pieces.length > 0 ? pieces : [{ from: began, to: end, shown: 0, length: 0 }];
}

function realAt(pieces: Piece[], shown: number): number {
  const piece = pieces.find((one) => shown <= one.shown + one.length) ?? (pieces[pieces.length - 1] as Piece);
  const past = shown - piece.shown;
  return piece.length > 0 && past <= piece.length ? piece.from + (past / piece.length) * (piece.to - piece.from) : piece.to + past - piece.length;
}

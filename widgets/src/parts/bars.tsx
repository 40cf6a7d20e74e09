// Bars: the spans of one row in the time lane. They differ by fill, outline, dash and end mark; colour repeats it.

import type { JSX } from "preact";
import type { Span } from "../types";
import type { Axis } from "./axis";
import { elapsed, took } from "./words";

const HOWS = new Set(["turn", "waiting", "running", "done", "failed", "cut", "replayed"]);

export function Lane(props: { axis: Axis; spans: readonly Span[]; now: number; small?: boolean; writing?: boolean }): JSX.Element {
  const { axis, spans, now } = props;
  return (
    <span class={`wb-lane${props.small ? " wb-lane-small" : ""}`} {...described(axis, spans, now)}>
      {spans.map((span, index) => (
        <Bar key={index} axis={axis} span={span} now={now} writing={props.writing === true} />
      ))}
    </span>
  );
}

function Bar({ axis, span, now, writing }: { axis: Axis; span: Span; now: number; writing: boolean }): JSX.Element {
  const from = axis.at(span.began_at);
  const to = axis.at(span.ended_at ?? now);
  const open = span.ended_at === null;
  const how = HOWS.has(span.how) ? span.how : "done";
  const classes = ["wb-bar", `wb-bar-${how}`];
  if (open && (how === "running" || writing)) classes.push("wb-bar-live");
  return <i class={classes.join(" ")} style={{ left: `${(from * 100).toFixed(2)}%`, width: `${(Math.max(0, to - from) * 100).toFixed(2)}%` }} />;
}

/** What the bars say to who cannot see them. */
function described(axis: Axis, spans: readonly Span[], now: number): { role?: "img"; "aria-label"?: string } {
  const first = spans[0];
  const last = spans[spans.length - 1];
  if (first === undefined || last === undefined) return {};
  const began = `began at ${elapsed(first.began_at - axis.began)}`;
  const sum = spans.reduce((total, span) => total + ((span.ended_at ?? now) - span.began_at), 0);
  const said = last.how === "waiting" && last.ended_at === null ? "waiting for you" : last.ended_at === null ? "running" : `took ${took(sum)}`;
  return { role: "img", "aria-label": `${said}, ${began}` };
}

/** The marks above the lane: times, and where a life ended and the next began. */
export function AxisHead({ axis }: { axis: Axis }): JSX.Element {
  const band = axis.bands[axis.bands.length - 1];
  const near = (at: number): boolean => band !== undefined && at > band.from - 0.27 && at < band.to + 0.36;
  return (
    <div class="wb-axis" aria-hidden="true">
      <span class="wb-axis-lane">
        {axis.ticks.map((tick) =>
          tick.label === "" || near(tick.at) ? null : (
            <span key={tick.at} class={`wb-tick${tick.at === 0 ? " wb-tick-first" : ""}`} style={{ left: `${tick.at * 100}%` }}>
              {tick.label}
            </span>
          ),
        )}
        {band !== undefined && (
          <>
            <span class="wb-tick-end" style={{ right: `${(1 - band.from) * 100}%` }}>
              {band.how === "killed" ? "killed" : "lost"}
            </span>
            <span class="wb-tick-begin" style={{ left: `${band.to * 100}%` }}>
              recovered
            </span>
          </>
        )}
      </span>
      <span class="wb-axis-took">took</span>
    </div>
  );
}

/** The lines behind all rows: marks, gaps, the time when nobody was alive, and now. */
export function Grid({ axis, now }: { axis: Axis; now: number | null }): JSX.Element {
  return (
    <div class="wb-grid" aria-hidden="true">
      {axis.bands.map((band) => (
        <i key={`band ${band.from}`} class="wb-grid-band" style={{ left: `${band.from * 100}%`, width: `${Math.max(0, band.to - band.from) * 100}%` }} />
      ))}
      {axis.ticks.map((tick) => (
        <i key={tick.at} class="wb-grid-mark" style={{ left: `${tick.at * 100}%` }} />
      ))}
      {axis.gaps.map((gap) => (
        <i key={`gap ${gap}`} class="wb-grid-gap" style={{ left: `${gap * 100}%` }} />
      ))}
      {now !== null && <i class="wb-grid-now" style={{ left: `${axis.at(now) * 100}%` }} />}
    </div>
  );
}

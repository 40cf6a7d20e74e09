// The rows of the timeline: what was said, what was called, and what a call is made of.

import type { ComponentChildren, JSX } from "preact";

import type { Connection, Outcome } from "../model";
import type { Axis } from "../parts/axis";
import { Lane } from "../parts/bars";
import { Card } from "../parts/card";
import type { Folds } from "../parts/live";
import { memo } from "../parts/memo";
import { masked } from "../parts/schema";
import { Drawing, Shape, Status } from "../parts/shapes";
import { Stream } from "../parts/stream";
import { Value } from "../parts/values";
import { argumentsLine, clock, count, elapsed, isCut, json, oneLine, plural, tail, took, utc, visible } from "../parts/words";
import { speaker } from "./rules";
import type { CallRow, Failure, Json, MessageRow, Row, StepRow } from "../types";

export interface RowContext {
  axis: Axis;
  now: number;
  connection: Connection<unknown>;
  live: boolean;
  gone: boolean;
  ended: boolean;
  began: number;
  folds: Folds;
  onDecided(id: string, outcome: Outcome): void;
}

interface RowProps {
  row: Row;
  index: number;
  open: boolean;
  context: RowContext;
}

/** Rows are drawn again only when they, the axis or their fold changed, or while they are running. */
export const TimelineRow = memo(
  ({ row, index, open, context }: RowProps): JSX.Element =>
    row.kind === "message" ? <Message row={row} index={index} context={context} /> : <Call row={row} index={index} open={open} context={context} />,
  (before, after) =>
    before.row === after.row &&
    before.index === after.index &&
    before.open === after.open &&
    before.context.axis.mark === after.context.axis.mark &&
    before.context.live === after.context.live &&
    before.context.gone === after.context.gone &&
    before.context.ended === after.context.ended &&
    (before.context.now === after.context.now || !isRunning(after.row)),
);

function isRunning(row: Row): boolean {
  return row.spans.some((span) => span.ended_at === null) || (row.kind === "call" && row.approval?.status === "pending");
}

function Message({ row, index, context }: { row: MessageRow; index: number; context: RowContext }): JSX.Element {
  const you = row.who === "you";
  const writing = row.streaming && !context.gone;
  const at = row.spans[0]?.began_at ?? context.began;
  return (
    <div class="wb-row wb-row-message" tabIndex={-1} data-wb-stop="" data-wb-row={row.id}>
      <span class="wb-row-shape">{row.replayed ? <Shape status="replayed" /> : null}</span>
      <div class="wb-row-main">
        <p class="wb-who">
          <b>{visible(speaker(row))}</b>
          {you ? (
            <span class="wb-dim" title={utc(at)}>
              {clock(at)}
            </span>
          ) : (
            <span class="wb-dim">turn {row.turn}</span>
          )}
          {row.note !== undefined && <span class="wb-dim">{visible(row.note)}</span>}
          {row.tokens !== null && (
            <span class="wb-dim wb-wide">
              {plural(row.tokens, "token")}
              {writing ? " so far" : ""}
            </span>
          )}
        </p>
        {isCut(row.text) ? (
          <Value value={row.text} path={`/rows/${index}/text`} connection={context.connection} />
        ) : (
          <Stream text={String(row.text)} live={writing} />
        )}
      </div>
      <Lane axis={context.axis} spans={you ? [] : row.spans} now={context.now} writing={writing} />
      <Took took={row.took} spans={row.spans} now={context.now} />
    </div>
  );
}

function Took({ took: known, spans, now }: { took: number | null; spans: Row["spans"]; now: number }): JSX.Element {
  const open = spans.find((span) => span.ended_at === null);
  return <span class="wb-took">{known !== null ? took(known) : open !== undefined ? took(Math.max(0, now - open.began_at)) : ""}</span>;
}

function Call({ row, index, open, context }: { row: CallRow; index: number; open: boolean; context: RowContext }): JSX.Element {
  const status = context.gone && row.status === "running" ? "interrupted" : row.status;
  const toggle = (to: boolean): void => context.folds.set(row.id, to);
  const keys = (event: KeyboardEvent): void => {
    if (event.key === "ArrowRight" || event.key === "ArrowLeft") toggle(event.key === "ArrowRight");
    else if (event.key === "Escape" && open) {
      event.stopPropagation();
      toggle(false);
    }
  };
  return (
    <>
      <div class="wb-row wb-row-call" data-wb-row={row.id}>
        <button type="button" class="wb-fold" aria-expanded={open} data-wb-stop="" onClick={() => toggle(!open)} onKeyDown={keys}>
          <span class="wb-row-mark">
            <Drawing name={open ? "down" : "right"} />
          </span>
          <span class="wb-row-shape">
            <Shape status={status} />
            <span class="wb-heard">{status}</span>
          </span>
          <span class="wb-row-line">
            <b class="wb-code">{visible(row.tool)}</b> <span class="wb-line-args">{argumentsLine(shown(row))}</span> <Ending row={row} gone={context.gone} />
          </span>
        </button>
        <Lane axis={context.axis} spans={frozen(row.spans, context)} now={context.now} />
        <Took took={row.took} spans={row.spans} now={context.now} />
      </div>
      {open && <Inside row={row} index={index} context={context} />}
    </>
  );
}

/** The spans as they are shown: what was running when the kernel went away is cut off there. */
function frozen(spans: Row["spans"], context: RowContext): Row["spans"] {
  if (!context.gone) return spans;
  return spans.map((span) => (span.ended_at === null && span.how === "running" ? { ...span, ended_at: context.now, how: "cut" } : span));
}

/** The arguments of a call, with dots for secrets. */
function shown(row: CallRow): { [key: string]: Json } {
  return masked(row.args, row.approval?.schema, [...(row.secret ?? []), ...(row.approval?.secret ?? [])]);
}

/** What a call came to, in the row: its result, its note, or what it was doing when the kernel went. */
function Ending({ row, gone }: { row: CallRow; gone: boolean }): JSX.Element | null {
  const running = row.steps.find((step) => step.status === "running");
  if (gone && running !== undefined) return <span class="wb-said">step {visible(running.name)} was running</span>;
  if (row.status === "success") {
    return (
      <>
        <span class="wb-line-args">
          {"→ "}
          {oneLine(row.result)}
        </span>
        {row.note !== "" && <span class="wb-said"> {visible(row.note)}</span>}
      </>
    );
  }
  if (row.note !== "") return <span class="wb-said">{visible(row.status === "interrupted" ? `interrupted, ${row.note}` : row.note)}</span>;
  return row.error !== null ? <span class="wb-said wb-ink-red">{visible(row.error.type ?? "")}</span> : null;
}

const PLAIN = 60; // a value this short is all there in the row above

function Inside({ row, index, context }: { row: CallRow; index: number; context: RowContext }): JSX.Element {
  const path = `/rows/${index}`;
  const waits = row.approval?.status === "pending";
  const unfinished = row.status === "running";
  const more = row.steps.length > 0 || (row.children?.length ?? 0) > 0 || row.approval !== null || row.error !== null;
  const plain = (value: Json): boolean => more && !unfinished && !isCut(value) && json(value).length <= PLAIN;
  return (
    <div class={`wb-inside${waits ? " wb-inside-waits" : ""}`}>
      {!waits && !plain(row.args) && (
        <Sub label="arguments" hidden="slim">
          <Value value={shown(row)} path={`${path}/args`} connection={context.connection} />
        </Sub>
      )}
      {row.approval !== null && !waits && (
        <Sub label={row.approval.status}>
          <Decided row={row} />
        </Sub>
      )}
      {(row.children ?? []).map((child) => (
        <Sub key={child.id} label={visible(child.agent)}>
          <Status status={child.status} /> <span class="wb-code wb-dim">{child.id}</span>
        </Sub>
      ))}
      {row.steps.map((step) => (
        <Step key={step.key} step={step} context={context} />
      ))}
      {(unfinished || row.progress.length > 0) && <Sub label="progress">{row.progress.length > 0 ? visible(row.progress[row.progress.length - 1] as string) : <span class="wb-dim">not yet</span>}</Sub>}
      {row.error !== null ? (
        <Broken error={row.error} path={path} context={context} id={row.id} />
      ) : row.status === "success" && !plain(row.result) ? (
        <Sub label="result">
          <Value value={row.result} path={`${path}/result`} connection={context.connection} />
        </Sub>
      ) : unfinished ? (
        <Sub label="result">
          <span class="wb-dim">not yet</span>
        </Sub>
      ) : null}
      {waits && row.approval !== null && (
        <div class="wb-row-card">
          <Card
            key={row.approval.id}
            approval={row.approval}
            path={`${path}/approval`}
            connection={context.connection}
            live={context.live}
            now={context.now}
            onDecided={(outcome) => context.onDecided(row.approval?.id ?? "", outcome)}
          />
        </div>
      )}
    </div>
  );
}

function Sub(props: { label: ComponentChildren; hidden?: "slim"; children: ComponentChildren }): JSX.Element {
  return (
    <div class={`wb-sub${props.hidden === "slim" ? " wb-wide" : ""}`}>
      <span class="wb-sub-label">{props.label}</span>
      <span class="wb-sub-value">{props.children}</span>
    </div>
  );
}

function Decided({ row }: { row: CallRow }): JSX.Element | null {
  const approval = row.approval;
  if (approval === null) return null;
  const by = [approval.decided_by === null ? "" : `by ${approval.decided_by}`, approval.via === null ? "" : viaWords(approval.via)].filter((part) => part !== "").join(" ");
  const parts = [by, approval.decided_at === null ? "" : `${clock(approval.decided_at)}, after ${elapsed(approval.decided_at - approval.asked_at)}`].filter((part) => part !== "");
  return (
    <>
      {visible(parts.join(", "))}
      {approval.reason !== null && approval.reason !== "" ? `: “${visible(approval.reason)}”` : ""}
    </>
  );
}

/** How a decision came, in words. */
export function viaWords(via: string): string {
  return { notebook: "in this notebook", cli: "on the command line", python: "in Python", rule: "by a rule" }[via] ?? `through ${via}`;
}

function Step({ step, context }: { step: StepRow; context: RowContext }): JSX.Element {
  const status = step.replayed ? "replayed" : step.ran_again && step.status === "success" ? "retried" : context.gone && step.status === "running" ? "interrupted" : step.status;
  return (
    <div class="wb-sub wb-sub-step">
      <span class="wb-row-shape">
        {step.ran_again && !step.replayed ? <Drawing name="again" ink="blue" /> : <Shape status={status} />}
        <span class="wb-heard">{status}</span>
      </span>
      <span class="wb-sub-label">
        <span class="wb-wide">step </span>
        <span class="wb-step-name">{visible(step.name)}</span>
      </span>
      <span class="wb-sub-value wb-dim wb-wide">
        {step.replayed ? (
          "replayed: its result is in the journal"
        ) : step.ran_again ? (
          "ran again under the same key"
        ) : (
          <>
            key{" "}
            <span class="wb-code" title={step.key}>
              {visible(tail(step.key, 3))}
            </span>
          </>
        )}
      </span>
      <Lane small axis={context.axis} spans={frozen(step.spans, context)} now={context.now} />
      <Took took={step.took} spans={step.spans} now={context.now} />
    </div>
  );
}

function Broken({ error, path, context, id }: { error: Failure; path: string; context: RowContext; id: string }): JSX.Element {
  const fold = `${id} traceback`;
  const open = context.folds.is(fold, false);
  const trace = error.traceback;
  return (
    <>
      <Sub label="error">
        <span class="wb-code wb-ink-red wb-wrap">
          {visible(`${error.type}: ${error.message}`)}
        </span>
      </Sub>
      {trace !== undefined && trace !== null && trace !== "" && (
        <Sub label="traceback">
          <button type="button" class="wb-unfold" aria-expanded={open} onClick={() => context.folds.set(fold, !open)}>
            <Drawing name={open ? "down" : "right"} /> {frames(trace)}
          </button>
          {open && (
            <pre class="wb-trace">
              <Value value={trace} path={`${path}/error/traceback`} connection={context.connection} />
            </pre>
          )}
        </Sub>
      )}
    </>
  );
}

function frames(trace: Json): string {
  if (typeof trace !== "string") return "frames";
  return plural(trace.split("\n").filter((line) => /^\s*File "/.test(line)).length, "frame");
}

/** Finished turns in one line, their bars kept. */
export function FoldedTurns(props: { rows: readonly Row[]; open: boolean; context: RowContext; onToggle(): void }): JSX.Element {
  const { rows, context } = props;
  const turns = rows.filter((row) => row.kind === "message").length;
  const calls = rows.length - turns;
  const replayed = rows.every((row) => row.replayed);
  const tokens = rows.reduce((sum, row) => sum + (row.kind === "message" ? (row.tokens ?? 0) : 0), 0);
  const spans = rows.flatMap((row) => row.spans);
  const times = spans.filter((span) => span.how !== "replayed");
  const took_ = times.length === 0 ? null : Math.max(...times.map((span) => span.ended_at ?? span.began_at)) - Math.min(...times.map((span) => span.began_at));
  return (
    <div class="wb-row wb-row-call">
      <button type="button" class="wb-fold" aria-expanded={props.open} data-wb-stop="" onClick={props.onToggle}>
        <span class="wb-row-mark">
          <Drawing name={props.open ? "down" : "right"} />
        </span>
        <span class="wb-row-shape">
          <Shape status={replayed ? "replayed" : "success"} />
        </span>
        <span class="wb-row-line">
          {plural(turns, "turn")}, {plural(calls, "tool call")}
          {replayed ? <span class="wb-dim"> replayed, no model call</span> : ", all success"}
          {!replayed && tokens > 0 ? <span class="wb-dim wb-wide"> {count(tokens)} tokens</span> : null}
        </span>
      </button>
      <Lane axis={context.axis} spans={spans} now={context.now} />
      <Took took={took_} spans={[]} now={context.now} />
    </div>
  );
}


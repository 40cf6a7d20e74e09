// The rows of a comparison: A on the left, B on the right, what is only in one of them marked with its sign.

import type { JSX } from "preact";
import type { Axis } from "../parts/axis";
import { Lane } from "../parts/bars";
import { Drawing, Shape } from "../parts/shapes";
import { argumentsLine, isCut, oneLine, plural, took, visible } from "../parts/words";
import type { CompareField, CompareHalf, CompareRow, Json, Piece } from "../types";

const MARK = { same: "", changed: "changed", "only a": "only in A", "only b": "only in B" } as const;

export function Row({ row, axis, until }: { row: CompareRow; axis: Axis; until: number }): JSX.Element {
  const half = row.a ?? row.b;
  return (
    <div class={`wb-pair wb-pair-${row.how.replace(" ", "-")}`} tabIndex={-1} data-wb-stop="" data-wb-row={row.id} aria-label={label(row)}>
      <span class="wb-pair-mark">
        {row.how === "changed" && <Drawing name="triangle" ink="blue" />}
        {row.how === "only a" && <b class="wb-ink-red">{"\u2212"}</b>}
        {row.how === "only b" && <b class="wb-ink-green">+</b>}
        {row.how !== "same" && <span class="wb-heard">{MARK[row.how]}</span>}
      </span>
      <div class="wb-pair-halves">
        {row.how === "same" ? (
          <Half row={row} half={row.b?.shared === true ? row.b : row.a} letter="" other="" />
        ) : (
          <>
            <Half row={row} half={row.a} letter="A" other="added" />
            <Half row={row} half={row.b} letter="B" other="removed" />
          </>
        )}
        {(row.args.length > 0 || row.result.length > 0) && <Fields row={row} />}
      </div>
      <span class="wb-lanes">
        <Lane small axis={axis} spans={row.a?.spans ?? []} now={until} />
        <Lane small axis={axis} spans={row.b?.spans ?? []} now={until} />
      </span>
      <span class="wb-took">{half?.id === "request" ? "" : ended(row)}</span>
    </div>
  );
}

function label(row: CompareRow): string {
  const what = row.what === "turn" ? (row.a ?? row.b)?.id.replace("-", " ") : row.what;
  return `${what}, ${row.how === "same" ? "the same" : MARK[row.how]}`;
}

/** How long each took, one below the other. */
function ended(row: CompareRow): JSX.Element {
  return (
    <>
      <span>{took(row.a?.took ?? null)}</span>
      <span>{took(row.b?.took ?? null)}</span>
    </>
  );
}

function Half({ row, half, letter, other }: { row: CompareRow; half: CompareHalf | null; letter: string; other: string }): JSX.Element {
  if (half === null) return <div class="wb-half wb-half-none" data-letter={letter} />;
  return (
    <div class={`wb-half${letter === "" ? " wb-half-both" : ""}`} data-letter={letter}>
      <p class="wb-who">
        <b>{half.id === "request" ? "Request" : half.tool !== "" ? <span class="wb-code">{half.tool}</span> : `Turn ${half.id.replace("turn-", "")}`}</b>
        {half.shared && (
          <span class="wb-status wb-ink-violet">
            <Shape status="replayed" /> shared
          </span>
        )}
        {half.tool !== "" && (
          <span class="wb-status">
            <Shape status={half.status} /> <span class="wb-dim">{half.status}</span>
          </span>
        )}
        {half.tokens !== null && letter !== "" && <span class="wb-dim wb-wide">{plural(half.tokens, "token")}</span>}
      </p>
      {half.tool === "" ? <Words half={half} pieces={row.pieces} other={other} /> : <Called half={half} />}
    </div>
  );
}

/** What was said; the words that only this half has are marked, by a line as well as by colour. */
function Words({ half, pieces, other }: { half: CompareHalf; pieces: readonly Piece[]; other: string }): JSX.Element {
  if (isCut(half.text)) return <p class="wb-text">{visible(half.text.$cut)} …</p>;
  if (pieces.length === 0) return <p class="wb-text">{visible(String(half.text))}</p>;
  return (
    <p class="wb-text">
      {pieces
        .filter((piece) => piece.how !== other)
        .map((piece, index) => {
          const text = visible(typeof piece.text === "string" ? piece.text : oneLine(piece.text));
          if (piece.how === "same") return <span key={index}>{text}</span>;
          return piece.how === "removed" ? (
            <del key={index} class="wb-removed">
              {text}
            </del>
          ) : (
            <ins key={index} class="wb-added">
              {text}
            </ins>
          );
        })}
    </p>
  );
}

function Called({ half }: { half: CompareHalf }): JSX.Element {
  return (
    <p class="wb-code wb-wrap wb-pair-call">
      {Object.keys(half.args).length === 0 ? <span class="wb-dim">no arguments</span> : argumentsLine(half.args)}
      {half.status === "success" && <span class="wb-dim">{` → ${oneLine(half.result)}`}</span>}
      {half.error !== "" && <span class="wb-ink-red"> {visible(String(half.error))}</span>}
    </p>
  );
}

/** The leaves that differ: path, value in A, value in B. */
function Fields({ row }: { row: CompareRow }): JSX.Element {
  const line = (name: string) => (field: CompareField, index: number): JSX.Element => (
    <p key={`${name} ${index}`} class="wb-leaf">
      <span class="wb-leaf-path">
        <span class="wb-dim">{name}</span> <span class="wb-code">{visible(field.path)}</span>
      </span>
      <span class="wb-leaf-a">{field.how === "added" ? <span class="wb-dim">none</span> : <del class="wb-removed wb-code">{leaf(field.a)}</del>}</span>
      <span class="wb-leaf-b">{field.how === "removed" ? <span class="wb-dim">none</span> : <ins class="wb-added wb-code">{leaf(field.b)}</ins>}</span>
    </p>
  );
  return (
    <div class="wb-leaves">
      {row.args.map(line("argument"))}
      {row.result.map(line("result"))}
    </div>
  );
}

function leaf(value: Json): string {
  return oneLine(value, 120);
}

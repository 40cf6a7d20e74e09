// The comparison: two runs beside each other, rows aligned by step, bars of both on one axis. Plain state in, elements out.

import type { ComponentChildren, JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import type { Connection } from "../model";
import { type Axis, makeAxis } from "../parts/axis";
import { AxisHead, Lane } from "../parts/bars";
import { Button } from "../parts/buttons";
import { Footer, lineFor, Now } from "../parts/frame";
import { KeyList, useKeys } from "../parts/keys";
import { type Folds, useConnection, useFolds } from "../parts/live";
import { Drawing, Status } from "../parts/shapes";
import { capital, count, elapsed, plural, spent, tokens } from "../parts/words";
import type { CompareRow, CompareSide, CompareView } from "../types";
import { Row } from "./rows";

export function ComparePanel({ connection }: { connection: Connection<CompareView> }): JSX.Element {
  useConnection(connection);
  if (connection.view === null) return <div class="wb-root wb-panel wb-empty">Nothing to show yet.</div>;
  return <Panel view={connection.view} connection={connection} />;
}

function Panel({ view, connection }: { view: CompareView; connection: Connection<CompareView> }): JSX.Element {
  const wide = connection as unknown as Connection<unknown>;
  const folds = useFolds(`compare ${view.a.id} ${view.b.id}`);
  const root = useRef<HTMLDivElement>(null);
  const place = useRef<HTMLDivElement>(null);
  const [keys, setKeys] = useState(false);
  useKeys(root, { onList: () => setKeys(!keys), onLeave: () => place.current?.focus() });
  const said = lineFor(wide, "The journals have everything that was committed.");
  const until = Math.max(view.a.elapsed, view.b.elapsed);
  const spans = view.rows.flatMap((row) => [...(row.a?.spans ?? []), ...(row.b?.spans ?? [])]);
  const axis = makeAxis(0, until, spans, []);
  return (
    <div class="wb-root wb-panel" ref={root} role="region" aria-label={`Runs ${view.a.id} and ${view.b.id}`}>
      <header class="wb-header">
        <div class="wb-title">
          <span class="wb-name">Comparison</span>
          <span class="wb-id">
            {view.a.id} and {view.b.id}
          </span>
        </div>
        <Sides view={view} />
      </header>
      <Now line={said ?? view.now_line} actions={[]} connection={wide} live={connection.phase === "live"} place={place} />
      <div class="wb-compare">
        <div class="wb-compare-head">
          <span class="wb-wide">A {view.a.id}</span>
          <span class="wb-wide">B {view.b.id}</span>
          <AxisHead axis={axis} />
        </div>
        {blocks(view.rows).map((block) => (
          <Block key={block.rows[0]?.id} block={block} axis={axis} folds={folds} until={until} />
        ))}
      </div>
      {keys && <KeyList />}
      <Footer actions={<Button look="quiet" small label="Keys" cap="?" onPress={() => setKeys(!keys)} />}>
        <Drawing name={view.differ === 0 ? "check" : "triangle"} ink={view.differ === 0 ? "green" : "blue"} />
        <span class="wb-dim">{view.differ === 0 ? "no row differs" : `${plural(view.differ, "row")} of ${count(view.rows.length)} differ`}, times and tokens left out</span>
      </Footer>
    </div>
  );
}

/** The two runs in figures: a row for each, so that a figure stands below its like. */
function Sides({ view }: { view: CompareView }): JSX.Element {
  return (
    <table class="wb-sides">
      <thead>
        <tr>
          <th>Run</th>
          <th>Status</th>
          <th class="wb-wide">Model</th>
          <th>Model calls</th>
          <th class="wb-wide">Tool calls</th>
          <th>Tokens</th>
          <th>Cost</th>
          <th class="wb-wide">Elapsed</th>
        </tr>
      </thead>
      <tbody>
        <Side letter="A" side={view.a} />
        <Side letter="B" side={view.b} />
      </tbody>
    </table>
  );
}

function Side({ letter, side }: { letter: string; side: CompareSide }): JSX.Element {
  const ended = side.alive || side.status === "completed";
  return (
    <tr>
      <th scope="row">
        <b class="wb-letter">{letter}</b> <span class="wb-code">{side.id}</span>
        {side.fork !== null && (
          <span class="wb-dim">
            {" "}
            forked from {side.fork.of} before {side.fork.before}
          </span>
        )}
      </th>
      <td>
        <Status status={ended ? side.status : "killed"} says={ended ? capital(side.status) : `${capital(side.status)}, killed`} />
      </td>
      <td class="wb-wide">
        {side.agent}, {side.model}
      </td>
      <td data-label="Model calls">
        {count(side.usage.model_calls)}
        {side.shared_turns > 0 && <span class="wb-dim"> ({count(side.shared_turns)} shared)</span>}
      </td>
      <td class="wb-wide">{count(side.calls)}</td>
      <td data-label="Tokens">{tokens(side.usage)}</td>
      <td data-label="Cost">{spent(side.usage)}</td>
      <td class="wb-wide">{elapsed(side.elapsed)}</td>
    </tr>
  );
}

interface Run {
  same: boolean;
  rows: CompareRow[];
}

const FEW = 3; // as many equal rows, or more, become one line

/** Rows in blocks: neighbours that are the same belong together. */
function blocks(rows: readonly CompareRow[]): Run[] {
  const made: Run[] = [];
  for (const row of rows) {
    const same = row.how === "same";
    const last = made[made.length - 1];
    if (last !== undefined && last.same && same) last.rows.push(row);
    else made.push({ same, rows: [row] });
  }
  return made;
}

function Block(props: { block: Run; axis: Axis; folds: Folds; until: number }): JSX.Element {
  const { block, folds } = props;
  const first = block.rows[0] as CompareRow;
  const rows = block.rows.map((row) => <Row key={row.id} row={row} axis={props.axis} until={props.until} />);
  if (!block.same || block.rows.length < FEW) return <>{rows}</>;
  const open = folds.is(first.id, false);
  return (
    <>
      <Folded rows={block.rows} open={open} onToggle={() => folds.set(first.id, !open)}>
        <Lane small axis={props.axis} spans={block.rows.flatMap((row) => row.a?.spans ?? [])} now={props.until} />
        <Lane small axis={props.axis} spans={block.rows.flatMap((row) => row.b?.spans ?? [])} now={props.until} />
      </Folded>
      {open && rows}
    </>
  );
}

function Folded(props: { rows: CompareRow[]; open: boolean; onToggle(): void; children: ComponentChildren }): JSX.Element {
  const shared = props.rows.filter((row) => row.b?.shared === true || row.a?.shared === true).length;
  const what = [...new Set(props.rows.map((row) => row.what))].join(", ");
  return (
    <div class="wb-pair wb-pair-folded">
      <button type="button" class="wb-unfold" aria-expanded={props.open} data-wb-stop="" onClick={props.onToggle}>
        <Drawing name={props.open ? "down" : "right"} />
        <span>
          {plural(props.rows.length, "row")} the same{shared > 0 ? `, ${count(shared)} shared` : ""} <span class="wb-dim">{what}</span>
        </span>
      </button>
      <span class="wb-lanes">{props.children}</span>
      <span class="wb-took" />
    </div>
  );
}

// The state of a process as a tree or as JSON. What the last yield changed is marked by a triangle, weight and tint.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Connection } from "../model";
import { Button } from "../parts/buttons";
import type { Folds } from "../parts/live";
import { Drawing } from "../parts/shapes";
import { Value } from "../parts/values";
import { count, isCut, json, oneLine, plural, pointer, size, visible } from "../parts/words";
import type { Json, ProcessView } from "../types";

const MANY = 50;
const LONG = 120;

export function Tree({ view, connection, folds }: { view: ProcessView; connection: Connection<unknown>; folds: Folds }): JSX.Element {
  const [as, setAs] = useState<"tree" | "json">("tree");
  return (
    <section class="wb-state" aria-label="State">
      <header>
        <h4>State</h4>
        <span class="wb-segments" role="group" aria-label="Show the state as">
          <Button small look="quiet" label="Tree" pressed={as === "tree"} onPress={() => setAs("tree")} />
          <Button small look="quiet" label="JSON" pressed={as === "json"} onPress={() => setAs("json")} />
        </span>
      </header>
      {as === "json" ? (
        <div class="wb-state-json">
          <Value value={view.state} path="/state" connection={connection} />
        </div>
      ) : (
        <Branch value={view.state} path="" depth={0} changed={new Set(view.changed)} folds={folds} connection={connection} />
      )}
      {view.changed.length > 0 && (
        <p class="wb-state-foot wb-ink-blue">
          <Drawing name="triangle" /> {count(view.changed.length)} changed by the last message
        </p>
      )}
    </section>
  );
}

interface BranchProps {
  value: Json;
  path: string;
  depth: number;
  changed: ReadonlySet<string>;
  folds: Folds;
  connection: Connection<unknown>;
}

/** The members of a value, one row each. */
function Branch(props: BranchProps): JSX.Element {
  const members = membersOf(props.value);
  if (members === null) return <Leaf {...props} name="" />;
  return (
    <>
      {members.slice(0, MANY).map(([name, value]) => (
        <Member key={name} {...props} name={name} value={value} path={`${props.path}${pointer(name)}`} />
      ))}
      {members.length > MANY && <p class="wb-tree-row wb-dim">{count(members.length - MANY)} more; JSON shows all</p>}
    </>
  );
}

function Member(props: BranchProps & { name: string }): JSX.Element {
  const members = membersOf(props.value);
  if (members === null || members.length === 0) return <Leaf {...props} />;
  const inner = [...props.changed].some((path) => path.startsWith(`${props.path}/`));
  const fold = `state ${props.path}`;
  const open = props.folds.is(fold, inner);
  const changed = props.changed.has(props.path);
  return (
    <>
      <button
        type="button"
        class={`wb-tree-row wb-unfold${changed ? " wb-tree-changed" : ""}`}
        style={{ paddingLeft: `${12 + props.depth * 16}px` }}
        aria-expanded={open}
        data-wb-stop=""
        onClick={() => props.folds.set(fold, !open)}
      >
        <Drawing name={changed ? "triangle" : open ? "down" : "right"} />
        <span class="wb-code wb-tree-line">
          {visible(props.name)} <span class="wb-dim">{open ? plural(members.length, "item") : oneLine(props.value)}</span>
        </span>
      </button>
      {open && <Branch {...props} depth={props.depth + 1} />}
    </>
  );
}

function Leaf({ name, value, path, depth, changed, folds, connection }: BranchProps & { name: string }): JSX.Element {
  const marked = changed.has(path);
  const text = isCut(value) ? null : json(value);
  if (text === null || text.length > LONG) return <LongLeaf name={name} value={value} path={path} depth={depth} marked={marked} folds={folds} connection={connection} />;
  return (
    <div class={`wb-tree-row${marked ? " wb-tree-changed" : ""}`} style={{ paddingLeft: `${12 + depth * 16}px` }}>
      <span class="wb-tree-mark">{marked && <Drawing name="triangle" ink="blue" />}</span>
      <span class="wb-code wb-tree-line">
        {name === "" ? "" : `${visible(name)} `}
        {marked ? <b>{oneLine(value)}</b> : oneLine(value)}
        {marked && <span class="wb-heard"> changed</span>}
      </span>
    </div>
  );
}

interface LongProps extends Omit<BranchProps, "changed"> {
  name: string;
  marked: boolean;
}

/** A long value: its beginning and size in the row, the whole of it below when opened. */
function LongLeaf({ name, value, path, depth, marked, folds, connection }: LongProps): JSX.Element {
  const open = folds.is(`state ${path}`, false);
  const inset = { paddingLeft: `${12 + depth * 16}px` };
  return (
    <>
      <button type="button" class={`wb-tree-row wb-unfold${marked ? " wb-tree-changed" : ""}`} style={inset} aria-expanded={open} data-wb-stop="" onClick={() => folds.set(`state ${path}`, !open)}>
        <Drawing name={marked ? "triangle" : open ? "down" : "right"} />
        <span class="wb-code wb-tree-line">
          {visible(name)} {oneLine(value, 60)} <span class="wb-dim">{size(isCut(value) ? value.bytes : new TextEncoder().encode(json(value)).length)}</span>
        </span>
      </button>
      {open && (
        <div class="wb-tree-row" style={inset}>
          <Value value={value} path={`/state${path}`} connection={connection} />
        </div>
      )}
    </>
  );
}

function membersOf(value: Json): [string, Json][] | null {
  if (value === null || typeof value !== "object" || isCut(value)) return null;
  if (Array.isArray(value)) return value.map((item, index) => [String(index), item]);
  if (typeof value.$int === "string" || typeof value.$float === "string") return null;
  return Object.entries((value.$map as { [key: string]: Json } | undefined) ?? value);
}

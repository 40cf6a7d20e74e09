// The graph of a team, left to right: who asked whom, and which tools they called. Every place is fixed, so nothing moves
// when somebody begins; the table below it says the same.

import type { JSX } from "preact";
import { Status } from "../parts/shapes";
import { capital, count, elapsed, plural, took, visible } from "../parts/words";
import type { TeamEdge, TeamNode, TeamView } from "../types";

const WIDTH = 188;
const HEIGHT = 68;
const ACROSS = 300;
const DOWN = 84;

export function Graph({ view }: { view: TeamView }): JSX.Element {
  const places = new Map(view.nodes.map((node) => [node.id, node]));
  const width = (view.columns - 1) * ACROSS + WIDTH + 2;
  const height = (view.slots - 1) * DOWN + HEIGHT + 2;
  return (
    <div class="wb-team-graph">
      <div style={{ width: `${width}px`, height: `${height}px` }} aria-hidden="true">
        <svg width={width} height={height} focusable="false">
          {view.edges.map((edge) => (
            <Line key={`${edge.source} ${edge.target}`} edge={edge} places={places} />
          ))}
        </svg>
        {view.nodes.map((node) => (
          <Place key={node.id} node={node} />
        ))}
      </div>
    </div>
  );
}

function left(node: TeamNode): number {
  return node.column * ACROSS + 1;
}

function top(node: TeamNode): number {
  return node.slot * DOWN + 1;
}

function Line({ edge, places }: { edge: TeamEdge; places: ReadonlyMap<string, TeamNode> }): JSX.Element | null {
  const source = places.get(edge.source);
  const target = places.get(edge.target);
  if (source === undefined || target === undefined) return null;
  const from = { x: left(source) + WIDTH, y: top(source) + HEIGHT / 2 };
  const to = { x: left(target) - 1, y: top(target) + HEIGHT / 2 };
  const bend = from.x + 26;
  const label = target.kind === "tool" ? (target.slot === source.slot || edge.label !== "" ? "calls tool" : "") : visible(edge.label);
  return (
    <g class={`wb-line wb-line-${edge.how}`}>
      <path d={`M${from.x} ${from.y}H${bend}V${to.y}H${to.x - 6}`} />
      <path class="wb-line-head" d={`M${to.x - 8} ${to.y - 4}L${to.x} ${to.y}l-8 4z`} />
      {label !== "" && (
        <text x={bend + 6} y={to.y - 6}>
          {label.length > 12 ? `${label.slice(0, 11)}…` : label}
        </text>
      )}
    </g>
  );
}

function Place({ node }: { node: TeamNode }): JSX.Element {
  const classes = ["wb-place"];
  if (node.active) classes.push("wb-place-active");
  if (node.status === "not started") classes.push("wb-place-open");
  return (
    <div class={classes.join(" ")} style={{ left: `${left(node)}px`, top: `${top(node)}px`, width: `${WIDTH}px`, height: `${HEIGHT}px` }} title={node.runs.join(", ")}>
      <p>
        <b>{visible(node.name)}</b>
        <Status status={node.status} says={capital(node.status)} />
      </p>
      <p class="wb-dim">{visible(about(node))}</p>
      <p class="wb-dim">{visible(figures(node))}</p>
    </div>
  );
}

function about(node: TeamNode): string {
  const runs = node.runs.length > 1 ? plural(node.runs.length, "run") : (node.runs[0] ?? "");
  return [node.part, runs].filter((part) => part !== "").join(", ");
}

function figures(node: TeamNode): string {
  if (node.kind === "tool") return `${plural(node.calls, "call")}${node.took === null || node.took === 0 ? "" : `, ${took(node.took)}`}`;
  if (node.waits_for !== null) return `approval: ${node.waits_for}`;
  if (node.status === "not started") return "";
  const tokens = node.usage.input_tokens === null ? plural(node.usage.model_calls, "model call") : `${count(node.usage.input_tokens + (node.usage.output_tokens ?? 0))} tokens`;
  return node.took === null ? tokens : `${tokens}, ${elapsed(node.took)}`;
}

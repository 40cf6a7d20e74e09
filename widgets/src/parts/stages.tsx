// Stages: what is declared, what was taken and where it is now, as a drawing and as the same in a table.

import type { JSX } from "preact";
import type { StageEdge, StageGraph } from "../types";
import { plural, visible } from "./words";

const HEIGHT = 28;
const GAP = 44;
const LETTER = 7;
const PADDING = 20;
const ARC = 22;

interface Box {
  name: string;
  x: number;
  width: number;
}

export function Stages({ graph }: { graph: StageGraph }): JSX.Element {
  return (
    <section class="wb-stages" aria-label="Stages">
      <h4>
        Stages <span class="wb-dim">{graph.current === null ? "not begun" : `at ${visible(graph.current)}`}</span>
      </h4>
      <Drawn graph={graph} />
      <div class="wb-heard">
        <table>
          <caption>Stages, what may follow, and how often it was taken</caption>
          <thead>
            <tr>
              <th>From</th>
              <th>To</th>
              <th>Taken</th>
            </tr>
          </thead>
          <tbody>
            {graph.edges.map((edge) => (
              <tr key={`${edge.source} ${edge.target}`}>
                <td>{edge.source}</td>
                <td>{edge.target}</td>
                <td>{said(edge)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

export function said(edge: StageEdge): string {
  const taken = edge.taken === 0 ? "not taken" : edge.taken === 1 ? "once" : plural(edge.taken, "time");
  return edge.declared ? taken : `${taken}, not declared`;
}

function Drawn({ graph }: { graph: StageGraph }): JSX.Element {
  const boxes = placed(graph.stages);
  const arcs = graph.edges.filter((edge) => !isNext(boxes, edge));
  const above = arcs.some((edge) => isForward(boxes, edge)) ? ARC : 4;
  const below = arcs.some((edge) => !isForward(boxes, edge)) ? ARC : 4;
  const last = boxes[boxes.length - 1] as Box;
  const visited = new Set(graph.path);
  return (
    <div class="wb-stages-drawn">
      <svg width={last.x + last.width + 2} height={HEIGHT + above + below} aria-hidden="true" focusable="false">
        {graph.edges.map((edge) => (
          <Way key={`${edge.source} ${edge.target}`} edge={edge} boxes={boxes} top={above} />
        ))}
        {boxes.map((box) => (
          <g key={box.name} class={`wb-stage${box.name === graph.current ? " wb-stage-now" : visited.has(box.name) ? "" : " wb-stage-open"}`}>
            <rect x={box.x} y={above} width={box.width} height={HEIGHT} rx="4" />
            <text x={box.x + box.width / 2} y={above + HEIGHT / 2 + 4}>
              {visible(box.name)}
            </text>
          </g>
        ))}
      </svg>
    </div>
  );
}

function Way({ edge, boxes, top }: { edge: StageEdge; boxes: readonly Box[]; top: number }): JSX.Element | null {
  const from = boxes.find((box) => box.name === edge.source);
  const to = boxes.find((box) => box.name === edge.target);
  if (from === undefined || to === undefined) return null;
  const classes = `wb-way${edge.taken > 0 ? "" : " wb-way-open"}${edge.declared ? "" : " wb-way-odd"}`;
  const middle = top + HEIGHT / 2;
  if (isNext(boxes, edge)) {
    const end = to.x - 1;
    return (
      <g class={classes}>
        <path d={`M${from.x + from.width} ${middle}H${end - 6}`} />
        <path class="wb-way-head" d={`M${end - 7} ${middle - 4}L${end} ${middle}l-7 4z`} />
      </g>
    );
  }
  const forward = isForward(boxes, edge);
  const start = from.x + from.width * (forward ? 0.7 : 0.3);
  const end = to.x + to.width * (forward ? 0.3 : 0.7);
  const edgeY = forward ? top : top + HEIGHT;
  const turn = forward ? edgeY - ARC + 4 : edgeY + ARC - 4;
  const head = forward ? `M${end - 4} ${edgeY - 7}L${end} ${edgeY}l4 -7z` : `M${end - 4} ${edgeY + 7}L${end} ${edgeY}l4 7z`;
  return (
    <g class={classes}>
      <path d={`M${start} ${edgeY}C${start} ${turn} ${end} ${turn} ${end} ${forward ? edgeY - 6 : edgeY + 6}`} />
      <path class="wb-way-head" d={head} />
    </g>
  );
}

function placed(stages: readonly string[]): Box[] {
  let x = 1;
  return stages.map((name) => {
    const box = { name, x, width: Math.max(64, Math.ceil(visible(name).length * LETTER) + PADDING) };
    x += box.width + GAP;
    return box;
  });
}

function isForward(boxes: readonly Box[], edge: StageEdge): boolean {
  return place(boxes, edge.target) > place(boxes, edge.source);
}

function isNext(boxes: readonly Box[], edge: StageEdge): boolean {
  return place(boxes, edge.target) === place(boxes, edge.source) + 1;
}

function place(boxes: readonly Box[], name: string): number {
  return boxes.findIndex((box) => box.name === name);
}

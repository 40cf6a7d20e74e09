// A team as the kernel would send it: a supervisor whose writer waits for a person, and a reviewer nobody asked yet.

import type { Span, StageGraph, TeamNode, TeamRow, TeamView, Usage } from "../src/types";
import { action, approval, START } from "./fixtures";

const at = (seconds: number): number => START + seconds;
const span = (from: number, to: number | null, how: string): Span => ({ began_at: at(from), ended_at: to === null ? null : at(to), how });
const used = (calls: number, input: number | null, output: number | null, cost: number | null): Usage => ({
  model_calls: calls, input_tokens: input, output_tokens: output, cost_microdollars: cost, unreported: 0, unpriced: 0,
});
const node = (id: string, status: string, column: number, slot: number, more: Partial<TeamNode>): TeamNode => ({
  id, kind: "agent", name: id.split(/[/#]/).at(-1) ?? id, part: "", status, runs: [], calls: 0, usage: used(0, null, null, null), took: null, waits_for: null,
  active: false, column, slot, ...more,
});
const row = (id: string, agent: string, status: string, more: Partial<TeamRow>): TeamRow => ({
  id, node: agent === "team" ? "team" : `team/${agent}`, depth: agent === "team" ? 0 : 1, agent, called_by: agent === "team" ? "" : "team", part: "", status,
  usage: used(0, null, null, null), spans: [], took: null, active: false, ...more,
});

export const stages: StageGraph = {
  stages: ["researching", "writing", "reviewing"],
  edges: [
    { source: "researching", target: "writing", declared: true, taken: 1 },
    { source: "writing", target: "reviewing", declared: true, taken: 0 },
    { source: "writing", target: "researching", declared: true, taken: 0 },
  ],
  path: ["researching", "writing"],
  current: "writing",
};

const asks = approval("ap-77", "publish_post", { title: "How we pack a backpack" }, {
  run: "run-5b10/t2.0", agent: "writer", chain: ["team", "writer", "publish_post"], call: "t1.0", sentence: "Publish a post, with title “How we pack a backpack”.",
  asked_at: at(54),
});

export const team: TeamView = {
  kind: "team", id: "run-5b10", agent: "team", status: "waiting", alive: true, killed_by: null, now: at(72), request: "A post on how we pack a backpack",
  began_at: at(0), ended_at: null, agents: 4, active: 2, usage: used(8, 14_200, 2280, 42_000), budget: { used: 0.042, limit: 0.1, unit: "dollars" }, stages,
  nodes: [
    node("team", "waiting", 0, 1, { part: "supervisor", runs: ["run-5b10"], usage: used(4, 7000, 1240, 21_000) }),
    node("team/researcher", "completed", 1, 0, { part: "stage researching", runs: ["run-5b10/t1.0"], calls: 3, usage: used(2, 4600, 538, 12_000), took: 26 }),
    node("team/researcher#search_notes", "success", 2, 0, { kind: "tool", part: "tool", calls: 3, took: 1.2 }),
    node("team/writer", "waiting", 1, 1, { part: "stage writing", runs: ["run-5b10/t2.0"], calls: 1, usage: used(2, 2600, 502, 9000), waits_for: "publish_post", active: true }),
    node("team/writer#publish_post", "pending", 2, 1, { kind: "tool", part: "tool, needs approval", calls: 1, took: 0 }),
    node("team/reviewer", "not started", 1, 2, { part: "stage reviewing" }),
  ],
  edges: [
    { source: "team", target: "team/researcher", label: "researching", how: "done" },
    { source: "team/researcher", target: "team/researcher#search_notes", label: "calls tool", how: "done" },
    { source: "team", target: "team/writer", label: "writing", how: "active" },
    { source: "team/writer", target: "team/writer#publish_post", label: "calls tool", how: "active" },
    { source: "team", target: "team/reviewer", label: "reviewing", how: "open" },
  ],
  columns: 3, slots: 3,
  rows: [
    row("run-5b10", "team", "waiting", { part: "supervisor", usage: used(4, 7000, 1240, 21_000), spans: [span(0, null, "running")] }),
    row("run-5b10/t1.0", "researcher", "completed", { part: "stage researching", usage: used(2, 4600, 538, 12_000), spans: [span(2, 28, "done")], took: 26 }),
    row("run-5b10/t2.0", "writer", "waiting", { part: "stage writing", usage: used(2, 2600, 502, 9000), spans: [span(32, 54, "done"), span(54, null, "waiting")], active: true }),
    row("team/reviewer", "reviewer", "not started", { part: "stage reviewing" }),
  ],
  pending: [asks],
  now_line: { tone: "amber", shape: "waiting", strong: "writer waits for you:", text: "publish_post. team goes on when it is decided.", action: "Show approval" },
  actions: [action("Cancel", "cancel"), action("Kill", "kill")],
};

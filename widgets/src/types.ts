// The shapes of the views, as `workbench/agents/views.py` draws them. Instants are UTC seconds, durations seconds.
// Values are what `workbench/widgets/browser.py` sends: JSON, with marks for what JavaScript cannot hold.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export interface Action {
  label: string;
  command: string;
  args: { [key: string]: Json };
  enabled: boolean;
}

export type Tone = "plain" | "amber" | "violet" | "red";

export interface NowLine {
  tone: Tone;
  shape: string;
  strong: string;
  text: string;
  action: string | null;
}

export interface Life {
  epoch: number;
  began_at: number;
  ended_at: number | null;
  how: string | null;
  by: string | null;
}

export interface Span {
  began_at: number;
  ended_at: number | null;
  how: string;
}

export interface MessageRow {
  kind: "message";
  id: string;
  who: string;
  /** Who asked, where it was another than you. */
  asker?: string;
  turn: number;
  text: Json;
  tokens: number | null;
  note?: string;
  streaming: boolean;
  replayed: boolean;
  spans: Span[];
  took: number | null;
}

export interface StepRow {
  name: string;
  key: string;
  status: string;
  replayed: boolean;
  ran_again: boolean;
  spans: Span[];
  took: number | null;
}

export interface Approval {
  id: string;
  run: string;
  key: string;
  agent: string;
  /** Who asked whom, then the tool. */
  chain?: string[];
  tool: string;
  call: string;
  /** tool_call: may it run? input_required: what is the value? */
  asks?: string;
  sentence: string;
  act: string;
  risk?: string;
  /** Why a person is asked, where somebody said. */
  message?: string;
  args: { [key: string]: Json };
  /** Where the secret ones stand, as JSON pointers. */
  secret?: string[];
  digest?: string;
  schema: { [key: string]: Json };
  asked_at: number;
  expires_at: number | null;
  status: string;
  decided_by: string | null;
  via: string | null;
  rule_id?: string | null;
  reason: string | null;
  decided_at: number | null;
  effective_args: { [key: string]: Json } | null;
  actions: Action[];
}

export interface Failure {
  type?: string;
  message?: string;
  traceback?: Json;
}

export interface CallRow {
  kind: "call";
  id: string;
  turn: number;
  tool: string;
  args: { [key: string]: Json };
  call_id: string;
  status: string;
  note: string;
  steps: StepRow[];
  progress: string[];
  result: Json;
  error: Failure | null;
  approval: Approval | null;
  /** The runs that it asked. */
  children?: { id: string; agent: string; status: string }[];
  /** Where the secret arguments stand, as JSON pointers. */
  secret?: string[];
  replayed: boolean;
  spans: Span[];
  took: number | null;
}

export type Row = MessageRow | CallRow;

export interface RecoveryGroup {
  group: string;
  count: number;
  parts: { part: string; has: string; does: string }[];
}

/** What the models were asked; null where nobody reported a figure. */
export interface Usage {
  model_calls: number;
  input_tokens: number | null;
  output_tokens: number | null;
  cost_microdollars: number | null;
  unreported: number;
  unpriced: number;
}

/** The limit that is nearest to being used up; `of` is "bench", or the run whose budget it is. */
export interface BudgetView {
  used: number;
  limit: number;
  unit: string;
  of?: string;
}

export interface RunView {
  kind: "run";
  id: string;
  key: string;
  agent: string;
  /** The agent that has the run now. */
  holder?: string;
  stages?: StageGraph | null;
  model: string;
  status: string;
  alive: boolean;
  killed_at: number | null;
  killed_by: string | null;
  elsewhere: string | null;
  now: number;
  request: string;
  fork?: ForkOf;
  began_at: number;
  ended_at: number | null;
  lives: Life[];
  usage: Usage;
  budget: BudgetView | null;
  now_line: NowLine;
  rows: Row[];
  recovery: RecoveryGroup[];
  output: string[];
  result: Json;
  error: Failure | null;
  committed: number;
  uncommitted: number;
  actions: Action[];
}

/** A rule that a person wrote and that is in force. */
export interface Rule {
  id: string;
  sentence: string;
  action: string;
  scope: string;
  by: string;
  at: number;
  actions: Action[];
}

export interface ApprovalsView {
  kind: "approvals";
  now: number;
  pending: Approval[];
  decided: Approval[];
  decided_total: number;
  rules?: Rule[];
  now_line: NowLine;
  actions: Action[];
}

export interface ProcessView {
  kind: "process";
  name: string;
  key: string | null;
  status: string;
  alive: boolean;
  elsewhere: string | null;
  now: number;
  epoch: number | null;
  pending: number;
  next_wake: number | null;
  error: Failure | null;
  state: Json;
  changed: string[];
  stages?: StageGraph | null;
  committed: boolean;
  now_line: NowLine;
  lives: Life[];
  actions: Action[];
}

export interface ForkOf {
  of: string;
  before: string;
  edited: string[];
  at: number;
  saved: { turns: number; calls: number };
}

export interface Piece {
  how: string;
  text: Json;
}

export interface CompareField {
  path: string;
  how: string;
  a: Json;
  b: Json;
}

export interface CompareHalf {
  id: string;
  text: Json;
  tool: string;
  args: { [key: string]: Json };
  status: string;
  note: string;
  result: Json;
  error: Json;
  tokens: number | null;
  took: number | null;
  shared: boolean;
  spans: Span[];
}

export interface CompareRow {
  id: string;
  kind: "message" | "call";
  how: "same" | "changed" | "only a" | "only b";
  what: string;
  a: CompareHalf | null;
  b: CompareHalf | null;
  pieces: Piece[];
  args: CompareField[];
  result: CompareField[];
}

export interface CompareSide {
  id: string;
  agent: string;
  model: string;
  status: string;
  alive: boolean;
  request: string;
  elapsed: number;
  usage: Usage;
  shared_turns: number;
  calls: number;
  fork: ForkOf | null;
  result: Json;
}

export interface CompareView {
  kind: "compare";
  now: number;
  a: CompareSide;
  b: CompareSide;
  differ: number;
  now_line: NowLine;
  rows: CompareRow[];
}

export interface StageEdge {
  source: string;
  target: string;
  declared: boolean;
  taken: number;
}

/** Stages and what may follow what, the way that was taken, and where it is now. */
export interface StageGraph {
  stages: string[];
  edges: StageEdge[];
  path: string[];
  current: string | null;
}

export interface TeamNode {
  id: string;
  kind: "agent" | "tool";
  name: string;
  part: string;
  status: string;
  runs: string[];
  calls: number;
  usage: Usage;
  took: number | null;
  waits_for: string | null;
  active: boolean;
  column: number;
  slot: number;
}

export interface TeamEdge {
  source: string;
  target: string;
  label: string;
  how: string;
}

export interface TeamRow {
  id: string;
  node: string;
  depth: number;
  agent: string;
  called_by: string;
  part: string;
  status: string;
  usage: Usage;
  spans: Span[];
  took: number | null;
  active: boolean;
}

export interface TeamView {
  kind: "team";
  id: string;
  agent: string;
  status: string;
  alive: boolean;
  killed_by: string | null;
  now: number;
  request: string;
  began_at: number;
  ended_at: number | null;
  agents: number;
  active: number;
  usage: Usage;
  budget: { used: number; limit: number; unit: string } | null;
  stages: StageGraph | null;
  nodes: TeamNode[];
  edges: TeamEdge[];
  columns: number;
  slots: number;
  rows: TeamRow[];
  pending: Approval[];
  now_line: NowLine;
  actions: Action[];
}

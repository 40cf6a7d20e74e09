// Views as the kernel would send them, one per scenario of LOOK 3, at fixed instants.

import type { Action, Approval, ApprovalsView, CallRow, Json, MessageRow, ProcessView, RunView, Span, StepRow } from "../src/types";

export const START = Date.UTC(2026, 10, 29, 14, 2, 31) / 1000;
const at = (seconds: number): number => START + seconds;

const span = (from: number, to: number | null, how: string): Span => ({ began_at: at(from), ended_at: to === null ? null : at(to), how });

export function action(label: string, command: string, enabled = true, args: { [key: string]: Json } = {}): Action {
  return { label, command, args, enabled };
}

export function message(id: string, who: string, turn: number, text: string, more: Partial<MessageRow> = {}): MessageRow {
  return { kind: "message", id, who, turn, text, tokens: null, streaming: false, replayed: false, spans: [], took: null, ...more };
}

export function call(id: string, tool: string, args: { [key: string]: Json }, more: Partial<CallRow> = {}): CallRow {
  const turn = Number(id.slice(1, 2));
  return {
    kind: "call", id, turn, tool, args, call_id: `run-7f3a#1#${id}`, status: "success", note: "", steps: [], progress: [],
    result: null, error: null, approval: null, replayed: false, spans: [], took: null, ...more,
  };
}

function step(name: string, status: string, spans: Span[], took: number | null, more: Partial<StepRow> = {}): StepRow {
  return { name, key: `run:run-7f3a#1#t2.0#${name}#0`, status, replayed: false, ran_again: false, spans, took, ...more };
}

export function approval(id: string, tool: string, args: { [key: string]: Json }, more: Partial<Approval> = {}): Approval {
  const one = { id };
  return {
    id, run: "run-7f3a", key: "run:run-7f3a", agent: "support", tool, call: "t2.1", sentence: "", act: "Changes data.", args,
    schema: { type: "object", properties: Object.fromEntries(Object.keys(args).map((name) => [name, { type: "string" }])) },
    asked_at: at(5), expires_at: null, status: "pending", decided_by: null, via: null, reason: null, decided_at: null, effective_args: null,
    actions: [action("Approve", "approve", true, one), action("Edit…", "edit", true, one), action("Reject…", "reject", true, one)],
    ...more,
  };
}

const cancelSchema = {
  type: "object",
  properties: { order_id: { type: "string", pattern: "^A-\\d{4}$", description: "The order number, e.g. A-1001" }, reason: { type: "string", default: "" } },
  required: ["order_id"],
};

const asksCancel = approval("ap-31", "cancel_order", { order_id: "A-1002", reason: "ordered twice" }, {
  sentence: "Cancels order A-1002, with the reason “ordered twice”.",
  schema: cancelSchema as unknown as { [key: string]: Json },
});

const you = message("m0", "you", 0, "My backpack arrived torn. Please refund A-1001. I ordered A-1002 twice, so cancel that one.", { spans: [] });
const turn1 = message("m1", "support", 1, "I will look at both orders first.", { tokens: 412, spans: [span(0.1, 1.9, "turn")], took: 1.8 });
const looks = [
  call("t1.0", "lookup_order", { order_id: "A-1001" }, { result: "shipped", spans: [span(2.0, 2.041, "done")], took: 0.041 }),
  call("t1.1", "lookup_order", { order_id: "A-1002" }, { result: "open", spans: [span(2.0, 2.038, "done")], took: 0.038 }),
];
const turn2 = message("m2", "support", 2, "A-1001 was shipped and can be refunded. A-1002 is still open, so I can cancel it.", {
  tokens: 1084, spans: [span(2.3, 4.9, "turn")], took: 2.6,
});

function run(more: Partial<RunView>): RunView {
  return {
    kind: "run", id: "run-7f3a", key: "run:run-7f3a", agent: "support", model: "offline", status: "running", alive: true, killed_at: null, killed_by: null,
    elsewhere: null, now: at(14), request: String(you.text), began_at: START, ended_at: null,
    lives: [{ epoch: 1, began_at: START, ended_at: null, how: null, by: null }],
    usage: { model_calls: 2, input_tokens: 1284, output_tokens: 212, cost_microdollars: null, unreported: 0, unpriced: 0 },
    budget: { used: 1496, limit: 20_000, unit: "tokens" },
    now_line: { tone: "plain", shape: "running", strong: "", text: "", action: null },
    rows: [], recovery: [], output: [], result: null, error: null, committed: 17, uncommitted: 0,
    actions: [action("Cancel", "cancel"), action("Kill", "kill")],
    ...more,
  };
}

const refunding = call("t2.0", "refund_order", { order_id: "A-1001" }, {
  status: "running", progress: ["refund done, sending the receipt"], spans: [span(5, null, "running")],
  steps: [step("refund", "success", [span(5, 6.9, "done")], 1.9), step("email", "running", [span(6.9, null, "running")], null)],
});
const waiting = call("t2.1", "cancel_order", { order_id: "A-1002", reason: "ordered twice" }, { status: "waiting", approval: asksCancel, spans: [span(5, null, "waiting")] });

export const running = run({
  rows: [you, turn1, ...looks, turn2, refunding, waiting],
  output: ["payments: A-1001 accepted, refund rf_8812", "mail: connecting to smtp.shop.example"],
  now_line: { tone: "amber", shape: "waiting", strong: "1 approval waits for you:", text: "cancel_order. Meanwhile refund_order is sending the receipt.", action: "Show approval" },
});

const refunded = call("t2.0", "refund_order", { order_id: "A-1001" }, {
  result: { refund_id: "rf_8812", emailed: true }, spans: [span(5, 14.6, "done")], took: 9.6,
  steps: [step("refund", "success", [span(5, 6.9, "done")], 1.9), step("email", "success", [span(6.9, 14.6, "done")], 7.7)],
});
const cancelled = call("t2.1", "cancel_order", { order_id: "A-1002" }, {
  result: "A-1002 cancelled", spans: [span(5, 23, "waiting"), span(23, 23.022, "done")], took: 0.022,
  approval: { ...asksCancel, status: "approved", decided_by: "you", via: "notebook", decided_at: at(23), actions: [] },
});

export const stopped = run({
  status: "waiting",
  rows: [you, turn1, ...looks],
  budget: { used: 20_012, limit: 20_000, unit: "tokens", of: "run-7f3a" },
  now_line: { tone: "amber", shape: "waiting", strong: "Budget used up:", text: "20,012 of 20,000 tokens.", action: "Extend and resume" },
  actions: [action("Cancel", "cancel"), action("Kill", "kill"), { ...action("Extend and resume", "extend"), args: { nth: 1 } }],
});

export const streaming = run({
  now: at(31),
  usage: { model_calls: 3, input_tokens: 2610, output_tokens: 298, cost_microdollars: null, unreported: 0, unpriced: 0 },
  budget: { used: 2908, limit: 20_000, unit: "tokens" },
  rows: [
    you, turn1, ...looks, turn2, refunded, cancelled,
    message("m3", "support", 3, "Done. I refunded A-1001 in full (refund rf_8812) and the receipt is on its way to your inbox. A-1002 is cancelled, so only one backpack will be", {
      streaming: true, tokens: 86, spans: [span(23.8, null, "turn")],
    }),
  ],
  now_line: { tone: "plain", shape: "running", strong: "support is writing", text: "its answer.", action: null },
  committed: 22, uncommitted: 1,
});

export const killed = run({
  alive: false, killed_at: at(14), killed_by: "you",
  lives: [{ epoch: 1, began_at: START, ended_at: at(13), how: "killed", by: "you" }],
  rows: [you, turn1, ...looks, turn2, refunding, waiting],
  now_line: { tone: "violet", shape: "killed", strong: "Killed by you at 14:02:45.", text: "Recover replays 5 records, runs 1 step again and tells the model about 1 call.", action: "Recover" },
  actions: [action("Cancel", "cancel"), action("Kill", "kill", false), action("Recover", "recover")],
  recovery: [
    { group: "replayed", count: 5, parts: [
      { part: "model turns 1 and 2", has: "both answers, 1,496 tokens", does: "uses the answers, calls no model" },
      { part: "lookup_order ×2", has: "both results", does: "uses the results" },
      { part: "refund_order step refund", has: "result rf_8812", does: "uses the result, pays nothing again" },
    ] },
    { group: "runs again", count: 1, parts: [{ part: "refund_order step email", has: "started, no result", does: "sends with key …#email#0" }] },
    { group: "interrupted", count: 1, parts: [{ part: "call_courier not idempotent", has: "intent, no result", does: "tells the model: it may have happened" }] },
    { group: "still waits", count: 1, parts: [{ part: "cancel_order", has: "request, pending", does: "asks you, as before" }] },
  ],
});

const replay = (row: MessageRow | CallRow): MessageRow | CallRow => ({ ...row, replayed: true, spans: [...row.spans, span(21, 21.2, "replayed")] });

export const recovered = run({
  status: "completed", now: at(35), ended_at: at(35),
  lives: [
    { epoch: 1, began_at: START, ended_at: at(14), how: "killed", by: "you" },
    { epoch: 2, began_at: at(21), ended_at: at(35), how: "done", by: null },
  ],
  usage: { model_calls: 3, input_tokens: 2020, output_tokens: 304, cost_microdollars: null, unreported: 0, unpriced: 0 },
  budget: { used: 2324, limit: 20_000, unit: "tokens" },
  now_line: { tone: "plain", shape: "completed", strong: "Completed at 14:03:06", text: "after 1 kill. No model call and no finished step was repeated.", action: null },
  rows: [
    you, ...[turn1, ...looks, turn2].map(replay),
    call("t2.0", "refund_order", { order_id: "A-1001" }, {
      result: { refund_id: "rf_8812", emailed: true }, spans: [span(5, 14, "cut"), span(21, 23.4, "done")], took: 11.4,
      steps: [
        step("refund", "success", [span(5, 6.9, "done"), span(21, 21.2, "replayed")], 1.9, { replayed: true }),
        step("email", "success", [span(7, 14, "cut"), span(21.4, 23.4, "done")], 2.0, { ran_again: true }),
      ],
    }),
    call("t2.2", "call_courier", { order_id: "A-1001" }, { status: "interrupted", note: "the model was told", spans: [span(12, 14, "cut")] }),
    call("t2.1", "cancel_order", { order_id: "A-1002" }, {
      result: "A-1002 cancelled", note: "approved by you", spans: [span(5, 14, "waiting"), span(21, 28.5, "waiting"), span(28.5, 28.6, "done")], took: 0.022,
      approval: { ...asksCancel, status: "approved", decided_by: "you", via: "notebook", decided_at: at(28.5), actions: [] },
    }),
    message("m3", "support", 3, "I refunded A-1001 (rf_8812) and sent the receipt. A-1002 is cancelled. I could not confirm whether the courier was called, so please check before you book one.", {
      tokens: 742, spans: [span(29.2, 34.8, "turn")], took: 5.6,
    }),
  ],
  committed: 31,
  actions: [],
});

export const failed = run({
  status: "failed", now: at(9), ended_at: at(9),
  now_line: { tone: "red", shape: "failed", strong: "Failed:", text: "PaymentRefused in refund_order, step refund.", action: null },
  rows: [
    you, turn1, ...looks, turn2,
    call("t2.0", "refund_order", { order_id: "A-9999" }, {
      status: "failed", spans: [span(5, 8.1, "failed")], took: 3.1,
      steps: [step("refund", "failed", [span(5, 8.1, "failed")], 3.1)],
      error: { type: "PaymentRefused", message: "card expired", traceback: `Traceback\n${'  File "shop.py", line 41, in refund\n    raise PaymentRefused("card expired")\n'.repeat(9)}` },
    }),
    call("t2.1", "fetch_page", { url: "https://shop.example/a" }, {
      spans: [span(8.2, 8.9, "done")], took: 2.0,
      result: { $cut: `<!doctype html> <script>alert(1)</script>\n${"<p>Back packs, 28 litres.</p>\n".repeat(700)}`, length: 5_000_000, bytes: 5_000_000 },
    }),
  ],
  actions: [], committed: 19,
  usage: { model_calls: 2, input_tokens: 18_120, output_tokens: 912, cost_microdollars: 42_100, unreported: 0, unpriced: 0 },
  budget: { used: 19_032, limit: 20_000, unit: "tokens" },
});

const voucherSchema = {
  type: "object",
  properties: {
    order_id: { type: "string", pattern: "^A-\\d{4}$", description: "The order number, e.g. A-1001" },
    amount: { type: "number", minimum: 0.01, maximum: 100 },
    currency: { enum: ["EUR", "USD", "CHF"] },
    valid_until: { anyOf: [{ type: "string", format: "date" }, { type: "null" }] },
    note: { type: "string" },
  },
  required: ["order_id", "amount", "currency"],
};

const inboxNow = at(600);
export const inbox: ApprovalsView = {
  kind: "approvals",
  now: inboxNow,
  pending: [
    approval("ap-29", "publish_post", {
      title: "How we pack a backpack",
      body: `It starts with the strap. Every pack that leaves the shop ${"is checked twice by two people, and then once more. ".repeat(92)}`,
      api_key: "x",
    }, {
      agent: "writer", run: "run-5b2e", sentence: "Publishes a post on the shop blog.", act: "Everybody can read it at once.", asked_at: inboxNow - 558, expires_at: inboxNow + 42,
      schema: { type: "object", properties: { title: { type: "string" }, body: { type: "string" }, api_key: { type: "string", writeOnly: true } } },
    }),
    approval("ap-31", "cancel_order", { order_id: "A-1002", reason: "ordered twice" }, {
      sentence: "Cancels order A-1002, with the reason “ordered twice”.", asked_at: inboxNow - 130, schema: cancelSchema as unknown as { [key: string]: Json },
      actions: [...asksCancel.actions, action("Answer as the tool…", "answer", true, { id: "ap-31" })],
    }),
    approval("ap-32", "issue_voucher", { order_id: "A-1001", amount: 40, currency: "EUR", valid_until: "2026-12-31", note: "Sorry for the torn strap." }, {
      run: "run-81c0", sentence: "Issues a voucher of 40 EUR.", asked_at: inboxNow - 48, schema: voucherSchema as unknown as { [key: string]: Json },
    }),
  ],
  decided: [
    approval("ap-28", "refund_order", { order_id: "A-1000" }, { run: "run-6d02", status: "approved", decided_by: "the rule “refunds up to 50”", via: "rule", decided_at: inboxNow - 860, actions: [] }),
    approval("ap-27", "cancel_order", { order_id: "A-0999" }, { run: "run-6c9f", status: "rejected", decided_by: "ana", via: "cli", reason: "wrong order", decided_at: inboxNow - 1240, actions: [] }),
    approval("ap-22", "publish_post", { title: "x" }, { agent: "writer", run: "run-4f77", status: "expired", decided_at: inboxNow - 2900, asked_at: inboxNow - 3500, actions: [] }),
  ],
  decided_total: 27,
  now_line: { tone: "amber", shape: "waiting", strong: "3 approvals wait for you.", text: "publish_post expires first.", action: null },
  actions: [],
};

const one = { id: "ap-31", digest: "sha256:31" };
/** The inbox with a question for a value, a card that a rule of the policy asked for, and rules in force. */
export const asking: ApprovalsView = {
  ...inbox,
  pending: [
    approval("ap-40", "ship_parcel", {}, {
      chain: ["desk", "support", "ship_parcel"], asks: "input_required", act: "", digest: "sha256:40", asked_at: inboxNow - 95,
      sentence: "Where should the parcel for A-1001 go, and how fast?",
      schema: {
        type: "object",
        properties: {
          city: { type: "string", maxLength: 40 }, parcels: { type: "integer", minimum: 1, default: 1 },
          express: { type: "boolean" }, carrier: { enum: ["post", "courier"] },
        },
        required: ["city", "parcels", "carrier"],
      },
      actions: [action("Answer", "answer", true, { id: "ap-40" }), action("Reject…", "reject", true, { id: "ap-40" }), action("Dismiss", "dismiss", true, { id: "ap-40" })],
    }),
    approval("ap-31", "cancel_order", { order_id: "A-1002", reason: "ordered twice" }, {
      sentence: "Cancels order A-1002, with the reason “ordered twice”.", asked_at: inboxNow - 60, schema: cancelSchema as unknown as { [key: string]: Json },
      asks: "tool_call", digest: "sha256:31", message: "orders above 100 EUR need a person",
      actions: [
        action("Approve", "approve", true, one), action("Edit…", "edit", true, one), action("Reject…", "reject", true, one),
        action("Answer as the tool…", "answer", true, one), action("Always for this tool…", "always", true, one), action("Dismiss", "dismiss", true, one),
      ],
    }),
  ],
  decided: [
    approval("ap-28", "refund_order", { order_id: "A-1000" }, { run: "run-6d02", status: "approved", decided_by: "rule", via: "rule", rule_id: "allow-refund_order-3f2a1c", decided_at: inboxNow - 860, actions: [] }),
    ...inbox.decided.slice(1),
  ],
  rules: [
    { id: "allow-refund_order-3f2a1c", sentence: "approve refund_order from support, where amount le 50, in this notebook", action: "allow", scope: "notebook", by: "ana", at: inboxNow - 900, actions: [action("Revoke", "revoke", true, { rule: "allow-refund_order-3f2a1c" })] },
    { id: "allow-*-77aa01", sentence: "approve every tool, in run-81c0", action: "allow", scope: "run", by: "you", at: inboxNow - 300, actions: [action("Revoke", "revoke", true, { rule: "allow-*-77aa01" })] },
  ],
  now_line: { tone: "amber", shape: "waiting", strong: "2 approvals wait for you.", text: "", action: null },
};

export const emptyInbox: ApprovalsView = {
  ...inbox, pending: [], now_line: { tone: "plain", shape: "completed", strong: "Nothing waits for you.", text: "A new request appears here.", action: null },
};

const orderState = {
  status: "charged",
  total: 70,
  items: [{ sku: "BP-28", price: 40 }, { sku: "ST-01", price: 10 }, { sku: "RC-05", price: 20 }],
  customer: { id: "c-301", name: "Mira" },
  receipt: "rc_901",
  note: "Leave at the door. ".repeat(12),
};

export const process: ProcessView = {
  kind: "process", name: "order", key: "order:A-1001", status: "running", alive: true, elsewhere: null, now: at(120), epoch: 3, pending: 3, next_wake: at(3600), error: null,
  state: orderState, changed: ["/status", "/total", "/items/2", "/receipt"], committed: true,
  now_line: { tone: "plain", shape: "asleep", strong: "Asleep in step cool-off", text: "since 14:02:20. The deadline is saved; a restart keeps it.", action: null },
  lives: [
    { epoch: 2, began_at: at(-231), ended_at: at(-100), how: "killed", by: "you" },
    { epoch: 3, began_at: at(-89), ended_at: null, how: null, by: null },
  ],
  actions: [action("Kill", "kill")],
};

export const disposed: ProcessView = {
  ...process, status: "disposed", alive: false, epoch: 3,
  lives: [process.lives[0], { epoch: 3, began_at: at(-89), ended_at: at(129), how: "killed", by: "you" }] as ProcessView["lives"],
  now_line: { tone: "violet", shape: "killed", strong: "Killed by you at 14:04:40.", text: "Recover replays 1 step and goes on sleeping until 15:02:20.", action: "Recover" },
  actions: [action("Kill", "kill", false), action("Recover", "recover")],
};

export const hostile = run({
  id: `run-${"7f3a".repeat(12)}`, agent: "<b>support</b>",
  rows: [
    message("m0", "you", 0, "<img src=x onerror=alert(1)> \u202Eevil\u202C " + "longword".repeat(40)),
    call("t1.0", "fetch", { url: `https://${"a".repeat(300)}.example/</script><script>alert(1)</script>` }, { result: { "</style>": ["\u0000\u0007", 1, null], big: { $int: "12345678901234567890" } }, spans: [span(1, 2, "done")], took: 1 }),
  ],
  now_line: { tone: "plain", shape: "running", strong: "Working on <i>fetch</i>:", text: "x".repeat(200), action: null },
});

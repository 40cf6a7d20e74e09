// A comparison as the kernel would send it: a run, and its fork with another result of the first call.

import type { CompareHalf, CompareRow, CompareView, Json, Span } from "../src/types";
import { START } from "./fixtures";

const span = (from: number, to: number, how: string): Span[] => [{ began_at: from, ended_at: to, how }];

function half(id: string, more: Partial<CompareHalf>): CompareHalf {
  return { id, text: "", tool: "", args: {}, status: "", note: "", result: null, error: "", tokens: null, took: null, shared: false, spans: [], ...more };
}

function called(id: string, tool: string, args: { [key: string]: Json }, result: Json, more: Partial<CompareHalf> = {}): CompareHalf {
  return half(id, { tool, args, result, status: "success", ...more });
}

function row(id: string, what: string, a: CompareHalf | null, b: CompareHalf | null, more: Partial<CompareRow> = {}): CompareRow {
  const kind = what === "turn" || what === "request" ? "message" : "call";
  return { id, kind, how: "same", what, a, b, pieces: [], args: [], result: [], ...more };
}

const asked = half("request", { text: "My backpack arrived torn. Please refund A-1001." });
const looked = { text: "I will look at the order first.", tokens: 412, took: 1.8, spans: span(0.1, 1.9, "turn") };
const found = { item: "Trail backpack, 28 L", status: "shipped", price: 74 };
const usage = { model_calls: 3, input_tokens: 2140, output_tokens: 388, cost_microdollars: 4120, unreported: 0, unpriced: 0 };
const side = {
  agent: "support", model: "openai:gpt-5.2", status: "completed", alive: true, request: String(asked.text), elapsed: 9.4, usage, shared_turns: 0, calls: 3, fork: null, result: "",
};

export const compared: CompareView = {
  kind: "compare",
  now: START + 60,
  a: { ...side, id: "run-7f3a" },
  b: {
    ...side, id: "run-c21e", elapsed: 7.2, shared_turns: 1, calls: 2, fork: { of: "run-7f3a", before: "t2", edited: ["t1.0"], at: START + 20, saved: { turns: 1, calls: 1 } },
    usage: { ...usage, input_tokens: 1960, output_tokens: 301, cost_microdollars: 3560 },
  },
  differ: 4,
  now_line: { tone: "plain", shape: "changed", strong: "4 of 8 rows differ,", text: "from lookup_order (t1.0) on. Both are completed.", action: null },
  rows: [
    row("r0", "request", asked, asked),
    row("r1", "turn", half("turn-1", looked), half("turn-1", { ...looked, shared: true })),
    row(
      "r2", "lookup_order",
      called("t1.0", "lookup_order", { order_id: "A-1001" }, found, { took: 0.041, spans: span(2, 2.041, "done") }),
      called("t1.0", "lookup_order", { order_id: "A-1001" }, { ...found, status: "lost" }, { took: 0.041, shared: true, note: "edited", spans: span(2, 2.041, "done") }),
      { how: "changed", result: [{ path: "status", how: "changed", a: "shipped", b: "lost" }] },
    ),
    row(
      "r3", "turn",
      half("turn-2", { text: "A-1001 was shipped and can be refunded.", tokens: 1084, took: 2.6, spans: span(2.3, 4.9, "turn") }),
      half("turn-2", { text: "A-1001 was lost on the way and can be refunded.", tokens: 902, took: 1.9, spans: span(2.3, 4.2, "turn") }),
      {
        how: "changed",
        pieces: [
          { how: "same", text: "A-1001 was " }, { how: "removed", text: "shipped " }, { how: "added", text: "lost on the way " }, { how: "same", text: "and can be refunded." },
        ],
      },
    ),
    row(
      "r4", "refund_order",
      called("t2.0", "refund_order", { order_id: "A-1001", amount: 74 }, { refund_id: "rf_8812", emailed: true }, { took: 1.4, spans: span(5, 6.4, "done") }),
      called("t2.0", "refund_order", { order_id: "A-1001", amount: 79.9 }, null, { status: "failed", error: "PaymentRefused: more than the order", took: 0.9, spans: span(4.3, 5.2, "failed") }),
      {
        how: "changed",
        args: [{ path: "amount", how: "changed", a: 74, b: 79.9 }],
        result: [{ path: "refund_id", how: "removed", a: "rf_8812", b: null }, { path: "emailed", how: "removed", a: true, b: null }],
      },
    ),
    row("r5", "notify", called("t2.1", "notify", { channel: "warehouse" }, "sent", { took: 0.2, spans: span(6.4, 6.6, "done") }), null, { how: "only a" }),
    row("r6", "audit", called("t2.2", "audit", {}, "noted", { took: 0.1, spans: span(6.6, 6.7, "done") }), called("t2.1", "audit", {}, "noted", { took: 0.1, spans: span(5.2, 5.3, "done") })),
    row("r7", "turn", half("turn-3", { text: "Done.", tokens: 96, took: 1.1, spans: span(8.3, 9.4, "turn") }), half("turn-3", { text: "Done.", tokens: 96, took: 1, spans: span(6.2, 7.2, "turn") })),
  ],
};

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { makeAxis, scaleFor } from "../src/parts/axis";
import { fieldsOf, inField, parsed, problemOf, typed } from "../src/parts/schema";
import { argumentsLine, cost, elapsed, json, size, spent, tail, tokens, took, visible } from "../src/parts/words";
import type { Json, Span } from "../src/types";

const done = (from: number, to: number): Span => ({ began_at: from, ended_at: to, how: "done" });

describe("words", () => {
  test("say what nobody reported as that, and never as zero", () => {
    const none = { model_calls: 2, input_tokens: null, output_tokens: null, cost_microdollars: null, unreported: 2, unpriced: 2 };
    const some = { ...none, input_tokens: 1284, output_tokens: 212, cost_microdollars: 42_100, unreported: 1, unpriced: 1 };
    assert.deepEqual([tokens(none), spent(none)], ["not reported", "no price"]);
    assert.deepEqual([tokens(some), spent(some)], ["at least 1,284 in, 212 out", "at least $0.042"]);
    assert.equal(tokens({ ...none, model_calls: 0, unreported: 0, unpriced: 0 }), "0 in, 0 out");
  });

  test("say durations and money as LOOK does", () => {
    assert.deepEqual([0.041, 1.94, 59.96, 4325].map(took), ["41 ms", "1.9 s", "0:59", "1:12:05"]);
    assert.deepEqual([elapsed(41), elapsed(4325)], ["0:41", "1:12:05"]);
    assert.deepEqual([cost(null), cost(42_100), cost(1_234_567_890)], ["no price", "$0.042", "$1,234.57"]);
    assert.deepEqual([size(812), size(1200), size(5_000_000)], ["812 bytes", "1.2 kB", "5.0 MB"]);
  });

  test("show control and direction characters as marks", () => {
    assert.equal(visible("a\u0000b\u202Ec\u200Bd\ne\tf"), "a\u2400b⟨U+202E⟩c⟨U+200B⟩d\ne\tf");
  });

  test("show marked values as what they are", () => {
    const value: Json = { big: { $int: "12345678901234567890" }, odd: { $float: "nan" }, mean: { $map: { $int: "5" } } };

    assert.equal(json(value), '{"big": 12345678901234567890, "odd": nan, "mean": {"$int": "5"}}');
    assert.equal(argumentsLine({ order_id: "A-1002", n: { $int: "9007199254740993" } }), 'order_id "A-1002", n 9007199254740993');
  });

  test("cut ids in front", () => {
    assert.equal(tail("order:A-1001#14#t2.0#email#0", 2), "…#email#0");
  });
});

describe("the axis", () => {
  test("has fixed scales", () => {
    assert.deepEqual([0, 20, 20.1, 61, 400].map((seconds) => scaleFor(seconds)[0]), [20, 20, 40, 120, 600]);
  });

  test("does not move while time passes within a scale", () => {
    const one = makeAxis(100, 105, [done(100, 102)], []);
    const other = makeAxis(100, 119, [done(100, 102)], []);

    assert.equal(one.at(102), other.at(102));
    assert.equal(one.mark, other.mark);
    assert.notEqual(one.mark, makeAxis(100, 140, [done(100, 102), done(119, 140)], []).mark);
  });

  test("cuts a night of waiting and labels what follows with its own time", () => {
    const axis = makeAxis(0, 30_010, [done(0, 2), done(30_000, 30_010)], []);

    assert.ok(axis.at(30_010) - axis.at(30_000) > 0.2, "the work after the wait is still to be seen");
    assert.equal(axis.gaps.length, 1);
    assert.equal(axis.ticks[axis.ticks.length - 1]?.label, elapsed(30_000 + 40 - 22));
  });

  test("marks where nobody was alive", () => {
    const lives = [
      { epoch: 1, began_at: 0, ended_at: 10, how: "killed", by: "you" },
      { epoch: 2, began_at: 15, ended_at: null, how: null, by: null },
    ];

    assert.deepEqual(makeAxis(0, 20, [done(0, 10), done(15, 20)], lives).bands, [{ from: 0.5, to: 0.75, how: "killed" }]);
  });
});

describe("a schema", () => {
  const schema: { [key: string]: Json } = {
    type: "object",
    $defs: { Currency: { enum: ["EUR", "USD"] } },
    properties: {
      order_id: { type: "string", pattern: "^A-\\d{4}$", description: "The order number, e.g. A-1001" },
      amount: { type: "number", minimum: 0.01, maximum: 100 },
      count: { type: "integer", exclusiveMinimum: 0 },
      currency: { $ref: "#/$defs/Currency" },
      until: { anyOf: [{ type: "string", format: "date" }, { type: "null" }] },
      urgent: { type: "boolean" },
      tags: { type: "array", items: { type: "string" } },
    },
    required: ["order_id", "amount", "count", "currency", "urgent", "tags"],
  };
  const fields = Object.fromEntries(fieldsOf(schema, {}).map((field) => [field.name, field]));
  const field = (name: string): (typeof fields)[string] & object => fields[name] as never;

  test("gives each argument its input and its rule in words", () => {
    assert.deepEqual(
      Object.values(fields).map((one) => [one.name, one.input, one.rule]),
      [
        ["order_id", "text", "text like A-1001"],
        ["amount", "number", "number, 0.01 to 100"],
        ["count", "number", "whole number, from 0"],
        ["currency", "choice", "one of 2"],
        ["until", "date", "date, optional"],
        ["urgent", "switch", "yes or no"],
        ["tags", "json", "array, as JSON"],
      ],
    );
  });

  test("says what is wrong with a value", () => {
    assert.equal(problemOf(field("order_id"), "A-101"), "Must be like A-1001");
    assert.equal(problemOf(field("order_id"), "A-1001"), null);
    assert.equal(problemOf(field("amount"), 100.5), "Must be 100 or less");
    assert.equal(problemOf(field("count"), 1.5), "Must be a whole number");
    assert.equal(problemOf(field("count"), 0), "Must be more than 0");
    assert.equal(problemOf(field("currency"), "GBP"), "Must be one of the choices");
    assert.equal(problemOf(field("until"), "31.12.2026"), "Must be a date, e.g. 2026-12-31");
    assert.equal(problemOf(field("until"), null), null);
    assert.equal(problemOf(field("tags"), { a: 1 }), "Must be a list");
    assert.equal(problemOf(field("amount"), undefined), "Is needed");
  });

  test("reads what was typed without rounding it", () => {
    assert.deepEqual(typed(field("amount"), "25.00"), { value: 25 });
    assert.deepEqual(typed(field("count"), "12345678901234567890"), { value: { $int: "12345678901234567890" } });
    assert.equal(typed(field("amount"), "a lot"), null);
    assert.deepEqual(parsed('{"n": 12345678901234567890, "s": "12345678901234567890"}'), {
      value: { n: { $int: "12345678901234567890" }, s: "12345678901234567890" },
    });
    assert.equal(inField(field("count"), { $int: "12345678901234567890" }), "12345678901234567890");
  });

  test("keeps an argument that it does not name", () => {
    assert.deepEqual(fieldsOf({}, { extra: [1] }).map((one) => [one.name, one.input]), [["extra", "json"]]);
  });
});

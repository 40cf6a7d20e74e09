import assert from "node:assert/strict";
import { describe, test } from "node:test";
import vectors from "../../tests/vectors/patches.json" with { type: "json" };
import { apply, type Op } from "../src/patch";
import type { Json } from "../src/types";

describe("patches", () => {
  for (const { name, before, after, ops } of vectors.differences as unknown as { name: string; before: Json; after: Json; ops: Op[] }[]) {
    test(`lead from one value to the other: ${name}`, () => {
      const held = structuredClone(before);

      assert.deepEqual(apply(before, ops), after);
      assert.deepEqual(before, held);
    });
  }

  for (const { name, value, ops, result } of vectors.applications as unknown as { name: string; value: Json; ops: Op[]; result: Json }[]) {
    test(`do what they say: ${name}`, () => {
      const held = structuredClone(value);

      assert.deepEqual(apply(value, ops), result);
      assert.deepEqual(value, held);
    });
  }

  const bad = [...vectors.refused, ...vectors.malformed];
  for (const { name, value, ops } of bad as unknown as { name: string; value: Json; ops: Op[] }[]) {
    test(`are refused when they do not fit: ${name}`, () => {
      assert.throws(() => apply(value, ops));
    });
  }

  test("share what they do not touch", () => {
    const before = { rows: [{ id: 1 }, { id: 2 }], usage: { calls: 1 } };

    const after = apply(before, [["set", "/rows/1/id", 3]]) as typeof before;

    assert.equal(after.rows[0], before.rows[0]);
    assert.equal(after.usage, before.usage);
    assert.notEqual(after.rows[1], before.rows[1]);
  });

  test("keep keys that objects inherit as data", () => {
    const after = apply(JSON.parse('{"__proto__": {"a": 1}}'), [["set", "/__proto__/a", 2], ["set", "/b", 1]]);

    assert.equal(JSON.stringify(after), '{"__proto__":{"a":2},"b":1}');
    assert.equal(({} as { a?: number }).a, undefined);
  });
});

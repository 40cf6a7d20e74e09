import { show as showPanel, type Shown } from "./page";
import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";
import { act } from "preact/test-utils";
import { compared } from "../gallery/compared";
import { ComparePanel } from "../src/compare/view";
import type { CompareView } from "../src/types";

let shown: Shown;
afterEach(() => shown.close());

describe("the comparison", () => {
  test("puts the figures of both runs below each other, and what is shared beside them", async () => {
    shown = await showPanel(ComparePanel, compared);

    const rows = [...shown.page.querySelectorAll(".wb-sides tbody tr")].map((row) => row.textContent ?? "");
    assert.match(rows[0] ?? "", /^A run-7f3a.*Completed.*3.*2,140 in, 388 out.*\$0\.004/);
    assert.match(rows[1] ?? "", /^B run-c21e forked from run-7f3a before t2.*3 \(1 shared\).*1,960 in, 301 out/);
  });

  test("marks the words that only one of them says, each on its side", async () => {
    shown = await showPanel(ComparePanel, compared);

    const row = shown.page.querySelector('[data-wb-row="r3"]') as HTMLElement;
    const [a, b] = [...row.querySelectorAll(".wb-half")];
    assert.equal(a?.querySelector("del")?.textContent, "shipped ");
    assert.equal(a?.querySelector("ins"), null);
    assert.equal(b?.querySelector("ins")?.textContent, "lost on the way ");
    assert.equal(b?.querySelector(".wb-text")?.textContent, "A-1001 was lost on the way and can be refunded.");
  });

  test("lists the leaves of arguments and results that differ, with both values", async () => {
    shown = await showPanel(ComparePanel, compared);

    const leaves = [...shown.page.querySelectorAll('[data-wb-row="r4"] .wb-leaf')].map((line) => line.textContent);
    assert.deepEqual(leaves, ["argument amount7479.9", 'result refund_id"rf_8812"none', "result emailedtruenone"]);
  });

  test("says in words what a row is, beside its sign", async () => {
    shown = await showPanel(ComparePanel, compared);

    const marks = [...shown.page.querySelectorAll(".wb-pair-mark .wb-heard")].map((mark) => mark.textContent);
    assert.deepEqual(marks, ["changed", "changed", "changed", "only in A"]);
  });

  test("folds what is the same into one line", async () => {
    const rows = [...compared.rows.slice(0, 2), ...compared.rows.slice(6)].map((row, index) => ({ ...row, id: `s${index}` }));
    shown = await showPanel(ComparePanel, { ...compared, rows, differ: 0 } as CompareView);

    assert.match(shown.text(".wb-pair-folded"), /4 rows the same, 1 shared/);
    assert.equal(shown.page.querySelectorAll(".wb-half").length, 0);
    await act(() => (shown.page.querySelector(".wb-pair-folded button") as HTMLElement).click());
    assert.equal(shown.page.querySelectorAll(".wb-half").length, 4);
  });

  test("says when the kernel is gone", async () => {
    shown = await showPanel(ComparePanel, compared);

    await act(() => shown.model.die());

    assert.match(shown.text(".wb-now-says"), /^The kernel is gone/);
  });
});

import { show as showPanel, type Shown } from "./page";
import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";
import { act } from "preact/test-utils";
import * as views from "../gallery/fixtures";
import { ProcessPanel } from "../src/process/view";

let shown: Shown;
afterEach(() => shown.close());

describe("the process inspector", () => {
  test("marks what the last message changed, in words as well", async () => {
    shown = await showPanel(ProcessPanel, views.process);

    const marked = [...shown.page.querySelectorAll(".wb-tree-changed")].map((row) => row.textContent);
    assert.deepEqual(marked, ['status "charged" changed', "total 70 changed", '2 {"sku": "RC-05", "price": 20}', 'receipt "rc_901" changed']);
    assert.match(shown.text(".wb-state-foot"), /4 changed by the last message/);
  });

  test("shows the state as JSON too", async () => {
    shown = await showPanel(ProcessPanel, views.process);

    await shown.press("JSON");

    assert.match(shown.text(".wb-state-json"), /"status": "charged"/);
  });

  test("counts the seconds to the next wake", async () => {
    shown = await showPanel(ProcessPanel, views.process);

    assert.match(shown.text(".wb-facts"), /in 58:00/);
  });

  test("names who ended a life, where it was somebody", async () => {
    const first = views.process.lives[0] as (typeof views.process.lives)[number];
    shown = await showPanel(ProcessPanel, { ...views.process, lives: [first, { ...first, epoch: 3, how: "replaced", by: "" }] });

    const ended = [...shown.page.querySelectorAll(".wb-life .wb-status")].map((life) => life.textContent?.trim());
    assert.deepEqual(ended, ["replaced", "killed by you"]);
  });

  test("carries Recover in the now line when it was disposed", async () => {
    shown = await showPanel(ProcessPanel, views.disposed);

    assert.equal(shown.button("Kill").disabled, true);
    await shown.press("Recover");
    assert.deepEqual(shown.model.commands().map((sent) => sent.command), ["recover"]);
  });

  test("says how each life ended", async () => {
    shown = await showPanel(ProcessPanel, views.process);

    assert.match(shown.text(".wb-lives"), /Activations 23 ?running ?since .*2 ?killed by you/);
  });

  test("says when the kernel is gone", async () => {
    shown = await showPanel(ProcessPanel, views.process);

    await act(() => shown.model.die());

    assert.match(shown.text(".wb-now-says"), /^The kernel is gone/);
    assert.equal(shown.button("Kill").disabled, true);
  });
});

import "./page";
import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";
import { act } from "preact/test-utils";
import * as views from "../gallery/fixtures";
import { RunPanel } from "../src/run/view";
import { gather } from "../src/run/rules";
import type { Json } from "../src/types";
import { NOW, settle, show as showPanel, type Shown } from "./page";

let shown: Shown;
const show = async (state: unknown, options: object = {}): Promise<Shown> => {
  sessionStorage.clear();
  shown = await showPanel(RunPanel, { ...(state as object), id: `run-${Math.random()}` }, options);
  return shown;
};
afterEach(() => shown.close());

describe("the run panel", () => {
  test("says what a fork came from, and what it shares", async () => {
    const fork = { of: "run-7f3a", before: "t2", edited: [], at: views.recovered.began_at, saved: { turns: 1, calls: 2 } };
    shown = await showPanel(RunPanel, { ...views.recovered, fork });

    assert.match(shown.text(".wb-facts"), /Forked from ?run-7f3a before t2, 1 turn shared/);
  });

  test("says status, agent, facts and the now line", async () => {
    const { text } = await show(views.running);

    assert.match(text(".wb-title"), /^Runningsupportrun-/);
    assert.equal(text(".wb-facts"), "Elapsed0:14Model calls2Tokens1,284 in, 212 outCostno priceBudget1,496 of 20,000 tokens7 % of tokens");
    assert.equal(text(".wb-now-says"), "1 approval waits for you: cancel_order. Meanwhile refund_order is sending the receipt.");
  });

  test("appends a growing text to the same text node", async () => {
    const { page, patch } = await show(views.streaming);
    const index = views.streaming.rows.length - 1;
    const before = (page.querySelector(".wb-text-live") as HTMLElement).firstChild as Text;
    const length = before.data.length;

    for (const word of [" posted", " to", " you."]) {
      const at = (shown.connection.view as unknown as { rows: { text: string }[] }).rows[index]?.text.length ?? 0;
      await patch([["splice", `/rows/${index}/text`, at, 0, word]]);
    }

    const after = (page.querySelector(".wb-text-live") as HTMLElement).childNodes;
    assert.equal(after.length, 1);
    assert.equal(after[0], before);
    assert.equal(before.data.slice(length), " posted to you.");
  });

  test("draws only the row that changed", async () => {
    const { page, patch } = await show(views.streaming);
    const rows = [...page.querySelectorAll(".wb-row")];
    const changes: Node[] = [];
    const observer = new (page.ownerDocument.defaultView as unknown as { MutationObserver: typeof MutationObserver }).MutationObserver((records) =>
      changes.push(...records.map((record) => record.target)),
    );
    for (const row of rows) observer.observe(row, { subtree: true, childList: true, characterData: true, attributes: true });

    await patch([["splice", `/rows/${views.streaming.rows.length - 1}/text`, 5, 0, " really"]]);
    await settle();

    const touched = new Set(changes.map((node) => ((node.parentElement?.closest(".wb-row") ?? node) as HTMLElement).getAttribute("data-wb-row")));
    assert.deepEqual([...touched], ["m3"]);
    observer.disconnect();
  });

  test("unfolds a running call by itself and keeps its lines reserved", async () => {
    const { text, patch } = await show({ ...views.running, rows: views.running.rows.slice(0, 5) });

    await patch([["splice", "/rows", 5, 0, [views.call("t2.0", "refund_order", { order_id: "A-1" }, { status: "running", spans: [{ began_at: views.START, ended_at: null, how: "running" }] }) as unknown as Json]]]);

    assert.equal(text(".wb-inside"), 'arguments{"order_id": "A-1"}progressnot yetresultnot yet');
  });

  test("keeps a fold that the reader chose, over updates and another showing", async () => {
    const state = { ...views.running, id: "run-folds" };
    shown = await showPanel(RunPanel, state);
    const fold = (): HTMLElement => shown.page.querySelector('[data-wb-row="t2.0"] .wb-fold') as HTMLElement;
    await act(() => fold().click());
    assert.equal(fold().getAttribute("aria-expanded"), "false");

    await shown.patch([["set", "/rows/5/progress", ["nearly there"]]]);
    assert.equal(fold().getAttribute("aria-expanded"), "false");
    shown.close();
    shown = await showPanel(RunPanel, state);

    assert.equal(fold().getAttribute("aria-expanded"), "false");
  });

  test("says who asked, where it was another than you", async () => {
    const who = async (more: object): Promise<string> => (await show({ ...views.running, rows: [views.message("m0", "you", 0, "Hello", more)] })).text(".wb-who b");

    assert.equal(await who({}), "You");
    assert.equal(await who({ asker: "mcp:desktop" }), "mcp:desktop");
  });

  test("shows hostile values as text and nothing else", async () => {
    const { page, text } = await show(views.hostile);
    await act(() => (page.querySelector('[data-wb-row="t1.0"] .wb-fold') as HTMLElement).click());

    assert.equal(page.querySelectorAll("img, script, b b, iframe, a").length, 0);
    assert.match(text(), /<img src=x onerror=alert\(1\)> ⟨U\+202E⟩evil⟨U\+202C⟩/);
    assert.match(text(".wb-inside"), /"<\/style>".*12345678901234567890/s);
  });

  test("shows a secret as dots", async () => {
    const secret = views.call("t1.0", "post", { api_key: "hunter2", id: 1 }, { status: "running", secret: ["api_key"], spans: [{ began_at: views.START, ended_at: null, how: "running" }] });

    const { page } = await show({ ...views.running, rows: [secret] });

    assert.match(page.textContent ?? "", /post api_key ••••••, id 1/);
    assert.doesNotMatch(page.innerHTML, /hunter2/);
  });

  test("shows a secret inside an argument as dots, in its row and below", async () => {
    const args = { login: { user: "ana", password: "hunter2" } };
    const secret = views.call("t1.0", "post", args, { status: "running", secret: ["/login/password"], spans: [{ began_at: views.START, ended_at: null, how: "running" }] });

    const { page } = await show({ ...views.running, rows: [secret] });
    await act(() => (page.querySelector('[data-wb-row="t1.0"] .wb-fold') as HTMLElement).click());

    assert.match(page.textContent ?? "", /post login \{"user": "ana", "password": "••••••"\}/);
    assert.doesNotMatch(page.innerHTML, /hunter2/);
  });

  test("folds a long value with its size and a way to see it", async () => {
    const { page, text, press } = await show(views.failed);
    await act(() => (page.querySelector('[data-wb-row="t2.1"] .wb-fold') as HTMLElement).click());

    assert.match(text(), /5\.0 MB of text/);
    await press("Show the first 20 kB");
    assert.ok(text().length > 15_000);
    await press("Show less");
    assert.ok(text().length < 5_000);
  });

  test("reads all parts of a long value from the kernel", async () => {
    const { page, model, press } = await show(views.failed);
    await act(() => (page.querySelector('[data-wb-row="t2.1"] .wb-fold') as HTMLElement).click());
    URL.createObjectURL = () => "blob:test";
    URL.revokeObjectURL = () => undefined;

    await press("Save as file");
    assert.deepEqual(model.commands().map(({ command, args }) => [command, args]), [["read", { path: "/rows/6/result", start: 0 }]]);
    await shown.say({ kind: "reply", id: model.commands()[0]?.id ?? "", ok: { text: "😀".repeat(3), length: 5 } });
    await settle();

    assert.deepEqual(model.commands()[1]?.args, { path: "/rows/6/result", start: 3 });
  });

  test("offers nothing before the kernel has answered", async () => {
    const { button, say, model } = await show(views.running, { answers: false });
    assert.equal(button("Kill").disabled, true);
    assert.equal(button("Approve").disabled, true);

    await say({ kind: "whole", revision: 1, state: model.state });

    assert.equal(button("Kill").disabled, false);
  });

  test("says that the kernel is gone, greys the buttons in place and keeps the content", async () => {
    const { model, text, button, page } = await show(views.running);
    const rows = page.querySelectorAll(".wb-row").length;

    await act(() => model.die());

    assert.match(text(".wb-now-says"), /^The kernel is gone, since \d\d:\d\d:\d\d\. The journal has everything up to event 17\. Start a kernel/);
    assert.match(text(".wb-title"), /^Running when last seen/);
    assert.deepEqual(["Cancel", "Kill", "Approve"].map((label) => button(label).disabled), [true, true, true]);
    assert.equal(page.querySelectorAll(".wb-row").length, rows);
    assert.match(text(".wb-footer"), /Buttons are off\. Command line: workbench approve ap-31/);
    assert.equal(page.querySelectorAll(".wb-turn").length, 0, "nothing turns any more");
  });

  test("stands still at the moment when the kernel went away, however long nothing had changed", async () => {
    const { model, text } = await show(views.running);
    assert.match(text(".wb-facts"), /^Elapsed0:14/);

    NOW.seconds += 30;
    await act(() => model.die());

    assert.match(text(".wb-facts"), /^Elapsed0:44/);
  });

  test("asks once before it cancels, and says what will be closed", async () => {
    const { press, text, model } = await show(views.running);

    await press("Cancel");
    assert.match(text(".wb-asking"), /^Cancel run-.* for good\? 1 approval will be closed\.CancelBack/);
    assert.deepEqual(model.commands(), []);
    await press("Cancel", 1);

    assert.deepEqual(model.commands().map((sent) => sent.command), ["cancel"]);
    assert.equal(shown.button("Cancelling").getAttribute("aria-disabled"), "true");
  });

  test("kills at once, and says why when it was refused", async () => {
    const { press, model, text, say } = await show(views.running);

    await press("Kill");
    await say({ kind: "reply", id: model.commands()[0]?.id ?? "", error: "run 'run-7f3a' runs elsewhere" });
    await settle();

    assert.equal(text(".wb-refusal"), "Not killed: run 'run-7f3a' runs elsewhere");
    assert.equal(shown.button("Kill").disabled, false);
  });

  test("extends a budget that is used up in one click", async () => {
    const { press, model, text, page } = await show(views.stopped);
    assert.equal(text(".wb-now-says"), "Budget used up: 20,012 of 20,000 tokens.");
    assert.equal(page.querySelectorAll(".wb-budget-red").length, 1);
    assert.match(text(".wb-budget"), /20,012 of 20,000 tokens, used up/);

    await press("Extend and resume");

    assert.deepEqual(model.commands().map(({ command, args }) => [command, args]), [["extend", { nth: 1 }]]);
    assert.equal(shown.button("Extending").getAttribute("aria-disabled"), "true");
  });

  test("shows what Recover will do, in four groups", async () => {
    const { text, page, button } = await show(views.killed);

    assert.match(text(".wb-title"), /^Running, killed/);
    assert.deepEqual([...page.querySelectorAll(".wb-recovery-group b")].map((one) => one.textContent), ["Replayed", "Runs again", "Interrupted", "Still waits for you"]);
    assert.equal(button("Kill").disabled, true);
    assert.equal(page.querySelectorAll(".wb-button-violet").length, 1);
  });

  test("shows both lives of a recovered run on one axis", async () => {
    const { page, text } = await show(views.recovered);

    assert.equal(page.querySelectorAll(".wb-grid-band").length, 1);
    assert.match(text(".wb-axis"), /killedrecovered/);
    assert.match(text(), /2 turns, 2 tool calls replayed, no model call/);
    assert.match(text(), /ran again under the same key/);
  });

  test("freezes while updates are paused and counts what waits", async () => {
    const { press, patch, text } = await show(views.running);

    await press("Pause updates");
    await patch([["set", "/usage/model_calls", 9], ["set", "/committed", 20]]);
    assert.match(text(".wb-facts"), /Model calls2T/);
    assert.match(text(".wb-footer"), /Go on, 3 waiting/);
    await press("Go on");

    assert.match(text(".wb-facts"), /Model calls9T/);
  });

  test("moves with J and K, lists its keys with a question mark, and does nothing else by a key", async () => {
    const { page, key, model, text } = await show(views.running);
    (page.querySelector(".wb-fold") as HTMLElement).focus();
    const first = document.activeElement;

    await key("j");
    assert.notEqual(document.activeElement, first);
    await key("k");
    assert.equal(document.activeElement, first);
    for (const other of ["a", "e", "r", "x", "Delete"]) await key(other);
    await key("?");

    assert.deepEqual(model.commands(), []);
    assert.match(text(".wb-keys"), /J.*next and previous/);
  });

  test("keeps keys typed in its fields from the notebook", async () => {
    const { page, press } = await show(views.running);
    await press("Reject…");
    let heard = 0;
    document.addEventListener("keydown", () => (heard += 1));

    await shown.key("d", page.querySelector(".wb-input-said") as Element);

    assert.equal(heard, 0);
  });

  test("announces a new approval once and moves no focus", async () => {
    const { page, patch, text } = await show({ ...views.running, rows: views.running.rows.slice(0, 6) });
    (page.querySelector(".wb-fold") as HTMLElement).focus();
    const focused = document.activeElement;

    await patch([["splice", "/rows", 6, 0, [views.running.rows[6] as unknown as Json]]]);
    assert.match(text("[role=alert]"), /^Approval asked: cancel_order\. Cancels order A-1002/);
    assert.equal(document.activeElement, focused);
    await patch([["set", "/committed", 30]]);

    assert.equal(page.querySelectorAll(".wb-heard[role=alert], .wb-heard [role=alert]").length, 1);
  });
});

describe("finished turns", () => {
  test("stand in one line before the present turn where that saves lines", () => {
    assert.deepEqual(gather(views.streaming.rows).map((part) => (part.kind === "row" ? part.row.id : part.rows.length)), ["m0", 5, "t2.1", "m3"]);
    assert.deepEqual(gather(views.running.rows).map((part) => part.kind), views.running.rows.map(() => "row"));
  });
});

import { settle, show as showPanel, type Shown } from "./page";
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, mock, test } from "node:test";
import * as views from "../gallery/fixtures";
import { ApprovalsPanel } from "../src/approvals/view";

let shown: Shown;
let clock = 0;

beforeEach(() => {
  clock = 0;
  mock.method(performance, "now", () => clock);
});
afterEach(() => {
  shown.close();
  mock.restoreAll();
});

/** The inbox, with everything on it standing still for long enough. */
async function inbox(state: unknown = views.inbox): Promise<Shown> {
  shown = await showPanel(ApprovalsPanel, state);
  clock += 600;
  return shown;
}
const card = (nth: number): HTMLElement => [...shown.page.querySelectorAll<HTMLElement>(".wb-card")][nth] as HTMLElement;
const sent = (): unknown[] => shown.model.commands().map(({ command, args }) => [command, args]);
const reply = async (outcome: { ok: object } | { error: string }): Promise<void> => {
  const last = shown.model.commands()[shown.model.commands().length - 1];
  await shown.say({ kind: "reply", id: last?.id ?? "", ...outcome } as never);
  await settle();
};

describe("an approval card", () => {
  test("asks, says what will happen, and shows the arguments", async () => {
    await inbox();

    assert.match(card(1).textContent ?? "", /^Approve cancel_order\?support, run-7f3aasked 2:10 agoCancels order A-1002, with the reason “ordered twice”\. Changes data\. Nothing has happened yet\.order_id"A-1002"reason"ordered twice"/);
  });

  test("approves once, however often it is pressed", async () => {
    const { press } = await inbox();

    await press("Approve", 2);
    await shown.press("Approving");
    await shown.press("Approving");

    assert.deepEqual(sent(), [["approve", { id: "ap-31" }]]);
  });

  test("is inert for half a second after it appeared", async () => {
    shown = await showPanel(ApprovalsPanel, views.inbox);

    clock += 499;
    await shown.press("Approve", 2);
    assert.deepEqual(sent(), []);
    clock += 1;
    await shown.press("Approve", 2);

    assert.deepEqual(sent(), [["approve", { id: "ap-31" }]]);
  });

  test("is inert for half a second after it moved", async () => {
    await inbox();
    const moved = card(1);
    moved.getBoundingClientRect = () => ({ top: 140 }) as DOMRect;

    await shown.press("Approve", 2);
    assert.deepEqual(sent(), []);
    clock += 500;
    await shown.press("Approve", 2);

    assert.deepEqual(sent(), [["approve", { id: "ap-31" }]]);
  });

  test("takes A, E and R only while it has the focus itself", async () => {
    await inbox();

    await shown.key("a", shown.button("Approve", 2));
    assert.deepEqual(sent(), []);
    card(1).focus();
    await shown.key("a", card(1));

    assert.deepEqual(sent(), [["approve", { id: "ap-31" }]]);
  });

  test("says beside its buttons why it was refused", async () => {
    await inbox();
    await shown.press("Approve", 2);

    await reply({ error: "ana rejected it 3 s ago" });

    assert.equal(shown.text(".wb-refusal"), "Not approved: ana rejected it 3 s ago");
    assert.equal(shown.button("Approve", 2).disabled, false);
  });

  test("asks for a reason before it rejects", async () => {
    await inbox();
    await shown.press("Reject…", 1);
    const field = card(1).querySelector(".wb-input-said") as HTMLInputElement;
    assert.equal(document.activeElement, field);

    await shown.type(field, "wrong order");
    await shown.press("Reject", 2);

    assert.deepEqual(sent(), [["reject", { id: "ap-31", reason: "wrong order" }]]);
  });

  test("goes back with Escape and sends nothing", async () => {
    await inbox();
    await shown.press("Reject…", 1);

    await shown.key("Escape", card(1).querySelector(".wb-input-said") as Element);

    assert.equal(card(1).querySelector(".wb-input-said"), null);
    assert.equal(document.activeElement, card(1));
    assert.deepEqual(sent(), []);
  });

  test("sends edited arguments as typed values, the others as they were", async () => {
    await inbox();
    await shown.press("Edit…", 2);
    await settle();
    const [, amount] = [...card(2).querySelectorAll("input.wb-input")];
    assert.equal(shown.button("Approve with changes").disabled, true, "nothing was changed yet");

    await shown.type(amount as Element, "25.00");
    assert.match(card(2).textContent ?? "", /changed, was 40/);
    await shown.press("Approve with changes");

    assert.deepEqual(sent(), [["edit", { id: "ap-32", args: { order_id: "A-1001", amount: 25, currency: "EUR", valid_until: "2026-12-31", note: "Sorry for the torn strap." } }]]);
  });

  test("says under a field what is wrong, and waits", async () => {
    await inbox();
    await shown.press("Edit…", 2);
    await settle();
    const [order] = [...card(2).querySelectorAll("input.wb-input")];

    await shown.type(order as Element, "A-101");

    assert.match(card(2).querySelector(".wb-problem")?.textContent ?? "", /Must be like A-1001/);
    assert.match(card(2).textContent ?? "", /1 field to fix/);
    assert.equal(shown.button("Approve with changes").disabled, true);
  });

  test("edits the same value as JSON", async () => {
    await inbox();
    await shown.press("Edit…", 1);
    await settle();
    await shown.press("JSON");
    const editor = card(1).querySelector("textarea") as HTMLTextAreaElement;
    assert.deepEqual(JSON.parse(editor.value), { order_id: "A-1002", reason: "ordered twice" });

    await shown.type(editor, '{"order_id": "A-1003"');
    assert.match(card(1).textContent ?? "", /Is no JSON/);
    await shown.type(editor, '{"order_id": "A-1003"}');
    await shown.press("Approve with changes");

    assert.deepEqual(sent(), [["edit", { id: "ap-31", args: { order_id: "A-1003" } }]]);
  });

  test("shows a secret as dots", async () => {
    await inbox();

    assert.match(card(0).textContent ?? "", /api_key•••••• secret/);
    assert.doesNotMatch(shown.page.innerHTML, />"x"</);
  });

  test("moves the focus to the next card after a decision", async () => {
    await inbox();
    await shown.press("Approve", 2);

    await reply({ ok: { status: "approved" } });
    await shown.patch([["splice", "/pending", 1, 1, []]]);
    await settle();

    assert.equal((document.activeElement as HTMLElement).dataset.wbCard, "ap-32");
  });

  test("is tinted only when it expires soon", async () => {
    await inbox();

    assert.deepEqual([0, 1, 2].map((nth) => card(nth).classList.contains("wb-card-tinted")), [true, false, false]);
    assert.match(card(0).textContent ?? "", /Expires in 0:42Then writer is told: no decision in time\./);
  });
});

describe("the inbox", () => {
  test("decides those that were selected, each by its own command", async () => {
    await inbox();
    const boxes = [...shown.page.querySelectorAll<HTMLInputElement>(".wb-card .wb-check")];
    for (const nth of [1, 2]) {
      boxes[nth]?.click();
      await settle();
    }
    await shown.press("Approve selected");
    await reply({ ok: {} });
    await reply({ ok: {} });

    assert.deepEqual(sent(), [["approve", { id: "ap-31" }], ["approve", { id: "ap-32" }]]);
  });

  test("finds by agent, tool, run and text", async () => {
    await inbox();
    const search = shown.page.querySelector(".wb-search input") as Element;

    await shown.type(search, "strap");

    assert.deepEqual([...shown.page.querySelectorAll<HTMLElement>(".wb-card")].map((one) => one.dataset.wbCard), ["ap-29", "ap-32"]);
  });

  test("says what was decided, by whom and why", async () => {
    await inbox();

    assert.match(shown.text(".wb-decided"), /Decided last 3 of 27/);
    assert.match(shown.text(".wb-decided"), /Rejectedcancel_ordersupport, run-6c9fby ana, command line: “wrong order”/);
  });

  test("says that nothing waits", async () => {
    await inbox(views.emptyInbox);

    assert.match(shown.text(".wb-now-says"), /Nothing waits for you/);
    assert.equal(shown.page.querySelectorAll(".wb-card").length, 0);
  });
});

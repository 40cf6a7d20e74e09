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

  test("shows a secret inside an argument as dots, wherever it is", async () => {
    const args = { login: { user: "ana", password: "hunter2" }, keys: [{ "a/b": "hunter3" }, "open"] };
    const asked = { ...views.inbox.pending[0], args, schema: {}, secret: ["/login/password", "/keys/0/a~1b"] };

    await inbox({ ...views.inbox, pending: [asked] });

    assert.match(card(0).textContent ?? "", /"ana".*••••••.*••••••.*"open"/s);
    assert.doesNotMatch(shown.page.innerHTML, /hunter/);
  });

  describe("with secrets inside", () => {
    const secret = { type: "string", format: "password" };
    const args = { login: { user: "ana", password: "hunter2" }, keys: [{ id: 1, key: "hunter3" }], pin: "hunter4", note: "hunter5" };
    const schema = {
      properties: { login: { type: "object" }, keys: { type: "array" }, pin: { anyOf: [secret, { type: "null" }] }, note: { type: "string", writeOnly: true } },
      required: Object.keys(args),
    };
    const asked = { ...views.inbox.pending[0], args, schema, secret: ["/login/password", "/keys/0/key", "/pin", "/note"] };
    const fields = (): HTMLInputElement[] => [...card(0).querySelectorAll<HTMLInputElement>("input:not(.wb-check), textarea")];
    const texts = (): string => shown.page.innerHTML + fields().map((field) => field.value).join();

    test("edits what is around them, and shows none", async () => {
      await inbox({ ...views.inbox, pending: [asked] });
      await shown.press("Edit…");
      await settle();
      assert.deepEqual(fields().slice(2).map((field) => field.type), ["password", "password"]);
      await shown.type(fields()[0] as Element, '{"user": "bo", "password": "••••••"}');
      assert.doesNotMatch(texts(), /hunter/);
      assert.match(card(0).textContent ?? "", /changed, was/);

      await shown.press("JSON");
      assert.match(fields()[0]?.value ?? "", /"bo"/);
      assert.doesNotMatch(texts(), /hunter/);
      await shown.press("Approve with changes");

      assert.deepEqual(sent(), [["edit", { id: "ap-29", args: { ...args, login: { user: "bo", password: "hunter2" } } }]]);
    });

    test("sends no dots, and no secret of another", async () => {
      await inbox({ ...views.inbox, pending: [asked] });
      await shown.press("Edit…");
      await settle();
      for (const [nth, text] of [[1, '[{"id": 2, "key": "••••••"}]'], [2, "••••••5"]] as const) {
        await shown.type(fields()[nth] as Element, text);
      }

      assert.match(card(0).textContent ?? "", /write the whole secret anew.*2 fields to fix/s);
      assert.equal((shown.button("Approve with changes") as HTMLButtonElement).disabled, true);
    });
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

describe("always for this tool", () => {
  test("shows the rule before it writes it, and sends where it holds", async () => {
    await inbox(views.asking);
    await shown.press("Always for this tool…");
    assert.match(card(1).textContent ?? "", /This rule is written: approve cancel_order from support,.*It approves what waits of it too\./);
    assert.deepEqual(sent(), []);
    const scope = card(1).querySelector("select") as HTMLSelectElement;
    assert.equal(document.activeElement, scope);

    scope.value = "run";
    scope.dispatchEvent(new Event("change", { bubbles: true }));
    await settle();
    await shown.press("Approve always");

    assert.deepEqual(sent(), [["always", { id: "ap-31", digest: "sha256:31", scope: "run" }]]);
  });

  test("goes back with Escape and writes nothing", async () => {
    await inbox(views.asking);
    await shown.press("Always for this tool…");

    await shown.key("Escape", card(1).querySelector("select") as Element);

    assert.equal(card(1).querySelector("select"), null);
    assert.deepEqual(sent(), []);
  });
});

describe("a question for a value", () => {
  test("is a typed form with the verb Answer, and no yes", async () => {
    await inbox(views.asking);

    assert.match(card(0).textContent ?? "", /^Asked by ship_parceldesk → support, run-7f3aasked 1:35 agoWhere should the parcel for A-1001 go, and how fast\? citytext, up to 40 characters/);
    assert.deepEqual([...card(0).querySelectorAll("button")].map((button) => button.textContent), ["Answer", "Reject…", "Dismiss"]);
    assert.equal((card(0).querySelectorAll("input.wb-input")[1] as HTMLInputElement).value, "1");
  });

  test("says what is missing once it is tried, and sends typed values", async () => {
    await inbox(views.asking);
    await shown.press("Answer");
    assert.match(card(0).textContent ?? "", /2 fields to fix/);
    assert.deepEqual(sent(), []);

    const [city, parcels] = [...card(0).querySelectorAll("input.wb-input")];
    const [express, carrier] = [...card(0).querySelectorAll<HTMLSelectElement>("select")];
    await shown.type(city as Element, "Kyiv");
    await shown.type(parcels as Element, "2");
    for (const [select, value] of [[express, "true"], [carrier, "post"]] as const) {
      (select as HTMLSelectElement).value = value;
      select?.dispatchEvent(new Event("change", { bubbles: true }));
      await settle();
    }
    await shown.press("Answer");

    assert.deepEqual(sent(), [["answer", { id: "ap-40", value: { city: "Kyiv", parcels: 2, express: true, carrier: "post" } }]]);
  });

  test("that is no object is one field", async () => {
    const [question, ...rest] = views.asking.pending;
    await inbox({ ...views.asking, pending: [{ ...question, schema: { type: "integer", minimum: 0 } }, ...rest] });
    await shown.type(card(0).querySelector("input.wb-input") as Element, "7");
    await shown.press("Answer");

    assert.deepEqual(sent(), [["answer", { id: "ap-40", value: 7 }]]);
  });
});

describe("the inbox", () => {
  test("decides those that were selected at once, each by what its card shows, and names those that were not decided", async () => {
    await inbox();
    const boxes = [...shown.page.querySelectorAll<HTMLInputElement>(".wb-card .wb-check")];
    for (const nth of [1, 2]) {
      boxes[nth]?.click();
      await settle();
    }
    await shown.press("Approve selected");
    await reply({ ok: { decided: ["ap-31"], undecided: { "ap-32": "'ap-32' is already rejected, by ana; the first decision stands" } } });

    assert.deepEqual(sent(), [["approve_all", { ids: { "ap-31": null, "ap-32": null } }]]);
    assert.match(shown.text(".wb-selection"), /1 of 3 selected.*1 not decided: 'ap-32' is already rejected, by ana/);
  });

  test("rejects those that were selected for one reason", async () => {
    await inbox(views.asking);
    await shown.press("Reject selected…");
    assert.deepEqual(sent(), []);
    (shown.page.querySelector(".wb-selection .wb-check") as HTMLInputElement).click();
    await settle();
    await shown.press("Reject selected…");
    await shown.type(shown.page.querySelector(".wb-selection .wb-input-said") as Element, "not today");
    await shown.press("Reject");

    assert.deepEqual(sent(), [["reject_all", { ids: { "ap-40": "sha256:40", "ap-31": "sha256:31" }, reason: "not today" }]]);
  });

  test("lists the rules in force, and revokes one", async () => {
    await inbox(views.asking);
    assert.equal(shown.page.querySelector(".wb-rules"), null);

    await shown.press("Rules (2)");
    assert.match(shown.text(".wb-rules"), /Approve refund_order from support, where amount le 50, in this notebook\..*by ana/);
    await shown.press("Revoke", 1);

    assert.deepEqual(sent(), [["revoke", { rule: "allow-*-77aa01" }]]);
  });

  test("says that a rule decided", async () => {
    await inbox(views.asking);

    assert.match(shown.text(".wb-decided"), /Approvedrefund_ordersupport, run-6d02by the rule allow-refund_order-3f2a1c/);
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

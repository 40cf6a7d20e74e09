import { show, type Shown } from "./page";
import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";
import * as views from "../gallery/fixtures";
import { team } from "../gallery/teamed";
import { ApprovalsPanel } from "../src/approvals/view";
import { ProcessPanel } from "../src/process/view";
import { RunPanel } from "../src/run/view";
import { TeamPanel } from "../src/team/view";

const FROM_OUTSIDE = /^(sentence|message|tool|note|text|strong|reason|type|part|has|does|by|decided_by|called_by|who|progress|says|name)$/;

/** The same view with a character that turns the direction of what follows in every text that others may write. */
function turned(value: unknown, field = ""): unknown {
  if (typeof value === "string") return FROM_OUTSIDE.test(field) && value !== "you" ? `${value}\u202e` : value;
  if (Array.isArray(value)) return value.map((item) => turned(item, field));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, turned(item, name)]));
}

let shown: Shown;
afterEach(() => shown.close());

describe("what turns the direction of a text", () => {
  const cases = { running: views.running, failed: views.failed, killed: views.killed, recovered: views.recovered };
  for (const [name, view] of Object.entries(cases)) {
    test(`is a mark in a run that is ${name}`, async () => {
      shown = await show(RunPanel, turned(view));

      assert.ok(shown.text().includes("⟨U+202E⟩"));
      assert.equal(shown.text().includes("\u202e"), false, around(shown.text()));
    });
  }

  test("is a mark in the inbox, where a person decides by what a card says", async () => {
    shown = await show(ApprovalsPanel, turned(views.inbox));

    assert.equal(shown.text().includes("\u202e"), false, around(shown.text()));
    assert.match(shown.text(".wb-card-says"), /⟨U\+202E⟩/);
  });

  test("is a mark in a process and in a team", async () => {
    shown = await show(ProcessPanel, turned({ ...views.process, error: { type: "ValueError", message: "no" } }));
    assert.equal(shown.text().includes("\u202e"), false, around(shown.text()));
    shown.close();
    shown = await show(TeamPanel, turned(team));
    assert.equal(shown.text().includes("\u202e"), false, around(shown.text()));
  });
});

/** The places that were missed. */
function around(text: string): string {
  return [...text.matchAll(/.{0,40}\u202e/gu)].map(([found]) => found).join(" | ");
}

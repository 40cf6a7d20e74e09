import { show as showPanel, type Shown } from "./page";
import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";
import { team } from "../gallery/teamed";
import { process, running } from "../gallery/fixtures";
import { stages } from "../gallery/teamed";
import { ProcessPanel } from "../src/process/view";
import { RunPanel } from "../src/run/view";
import { TeamPanel } from "../src/team/view";

let shown: Shown;
afterEach(() => shown.close());

const places = (): string[] => [...shown.page.querySelectorAll(".wb-place")].map((place) => (place as HTMLElement).textContent ?? "");
const rows = (): string[] => [...shown.page.querySelectorAll(".wb-team tbody tr")].map((row) => row.textContent ?? "");

describe("the team", () => {
  test("is a graph and a table of the same agents", async () => {
    shown = await showPanel(TeamPanel, team);

    assert.deepEqual(places().map((place) => place.match(/^[a-z_]+/)?.[0]), ["team", "researcher", "search_notes", "writer", "publish_post", "reviewer"]);
    assert.deepEqual(rows().map((row) => row.match(/(Waiting|Completed|Not started)(team|researcher|writer|reviewer)/)?.[2]), ["team", "researcher", "writer", "reviewer"]);
    assert.equal(shown.page.querySelectorAll(".wb-place-active").length, 1);
    assert.equal(shown.page.querySelectorAll(".wb-place-open").length, 1);
    assert.equal(shown.page.querySelector(".wb-team-graph > div")?.getAttribute("aria-hidden"), "true");
  });

  test("keeps the table for who cannot see the graph, whatever is shown", async () => {
    shown = await showPanel(TeamPanel, team);

    await shown.press("Graph");
    assert.equal(shown.page.querySelectorAll(".wb-team .wb-heard tbody tr").length, 4);
    await shown.press("Table");
    assert.equal(shown.page.querySelector(".wb-team-graph"), null);
  });

  test("moves no place when somebody begins", async () => {
    shown = await showPanel(TeamPanel, team);
    const before = [...shown.page.querySelectorAll<HTMLElement>(".wb-place")].map((place) => [place.style.left, place.style.top]);

    await shown.patch([["set", "/nodes/5/status", "running"], ["set", "/nodes/5/active", true], ["set", "/edges/4/how", "active"]]);

    assert.deepEqual([...shown.page.querySelectorAll<HTMLElement>(".wb-place")].map((place) => [place.style.left, place.style.top]), before);
    assert.match(places()[5] ?? "", /^reviewerRunning/);
  });

  test("has the approval of whoever waits below, with the whole chain", async () => {
    shown = await showPanel(TeamPanel, team);

    assert.match(shown.text(".wb-now-says"), /^writer waits for you: publish_post/);
    assert.match(shown.text(".wb-card-question"), /team → writer/);
    shown.button("Reject…");
  });

  test("cancels all of it, and says so first", async () => {
    shown = await showPanel(TeamPanel, team);

    await shown.press("Cancel");
    assert.match(shown.text(".wb-asking"), /Cancel run-5b10 and all that it asked for good\? 1 approval will be closed\./);
  });
});

describe("stages", () => {
  test("are drawn, and told in a table", async () => {
    shown = await showPanel(TeamPanel, team);

    assert.equal(shown.text(".wb-stage-now"), "writing");
    assert.deepEqual([...shown.page.querySelectorAll(".wb-stage-open")].map((one) => one.textContent), ["reviewing"]);
    assert.equal(shown.page.querySelectorAll(".wb-way-open").length, 2);
    assert.deepEqual([...shown.page.querySelectorAll(".wb-stages tbody tr")].map((row) => row.textContent), ["researchingwritingonce", "writingreviewingnot taken", "writingresearchingnot taken"]);
  });

  test("of a process, and of a run, stand in their panels", async () => {
    shown = await showPanel(ProcessPanel, { ...process, stages });
    assert.equal(shown.text(".wb-stage-now"), "writing");
    shown.close();

    shown = await showPanel(RunPanel, { ...running, stages, holder: "reviewer" });
    assert.equal(shown.text(".wb-stage-now"), "writing");
    assert.match(shown.text(".wb-facts"), /Now withreviewer/);
  });

  test("that were taken and are not declared say so", async () => {
    const edges = [...stages.edges, { source: "reviewing", target: "researching", declared: false, taken: 2 }];
    shown = await showPanel(ProcessPanel, { ...process, stages: { ...stages, edges, current: null } });

    assert.match(shown.text(".wb-stages"), /Stages not begun/);
    assert.match(shown.text(".wb-stages table"), /reviewingresearching2 times, not declared/);
    assert.equal(shown.page.querySelectorAll(".wb-way-odd").length, 1);
  });
});

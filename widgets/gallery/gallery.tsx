// The gallery: the real views over fixture states, one scenario per page, `#scenario` or `#scenario dark`.

import { h, render } from "preact";
import { ApprovalsPanel } from "../src/approvals/view";
import { ComparePanel } from "../src/compare/view";
import { Connection } from "../src/model";
import { ProcessPanel } from "../src/process/view";
import { RunPanel } from "../src/run/view";
import { TeamPanel } from "../src/team/view";
import type { ApprovalsView, CompareView, Json, ProcessView, RunView, TeamView } from "../src/types";
import { compared } from "./compared";
import { FakeModel } from "./fake";
import * as views from "./fixtures";
import { team } from "./teamed";

type View = RunView | ApprovalsView | ProcessView | CompareView | TeamView;

interface Scenario {
  view: View;
  /** What a reader did before the picture was taken. */
  then?: (page: HTMLElement, model: FakeModel) => void;
}

const press = (page: HTMLElement, label: string, nth = 0): void => {
  const buttons = [...page.querySelectorAll("button")].filter((button) => button.textContent?.startsWith(label));
  buttons[nth]?.click();
};

/** The inbox while a reader rejects the first, has selected the second, and edits the third. */
function edited(page: HTMLElement): void {
  const cards = [...page.querySelectorAll<HTMLElement>(".wb-card")];
  press(cards[0] as HTMLElement, "Reject…");
  (cards[1] as HTMLElement).querySelector("input")?.click();
  press(cards[2] as HTMLElement, "Edit…");
  setTimeout(() => {
    const [order, amount] = [...(cards[2] as HTMLElement).querySelectorAll<HTMLInputElement>("input.wb-input")];
    for (const [input, text] of [[order, "A-101"], [amount, "25.00"]] as const) {
      (input as HTMLInputElement).value = text;
      input?.dispatchEvent(new Event("input", { bubbles: true }));
      input?.focus();
    }
  }, 50);
}

const scenarios: Record<string, Scenario> = {
  running: { view: views.running, then: (page) => { press(page, "Show all"); press(page, "Output"); } },
  "running-fixed": { view: views.running },
  streaming: { view: views.streaming },
  killed: { view: views.killed },
  recovered: { view: views.recovered },
  failed: { view: views.failed },
  gone: { view: views.running, then: (_, model) => model.die() },
  inbox: { view: views.inbox, then: edited },
  "inbox-asking": { view: views.asking, then: (page) => { press(page, "Rules"); press(page, "Always for"); press(page, "Answer"); } },
  "inbox-empty": { view: views.emptyInbox },
  process: { view: views.process },
  disposed: { view: views.disposed },
  compare: { view: compared, then: (page) => press(page, "4 rows the same") },
  team: { view: team },
  hostile: { view: views.hostile },
};

export function show(page: HTMLElement, name: string): FakeModel {
  const { view, then } = scenarios[name] as Scenario;
  const model = new FakeModel(view as unknown as Json);
  let now = view.now;
  const start = performance.now();
  const clock = (): number => (location.search.includes("live") ? (now + (performance.now() - start) / 1000) * 1000 : now * 1000);
  const connection = new Connection<View>(model, clock);
  const panel = { run: RunPanel, approvals: ApprovalsPanel, process: ProcessPanel, compare: ComparePanel, team: TeamPanel }[view.kind];
  render(h(panel as never, { connection } as never), page);
  setTimeout(() => {
    if (name === "gone") now += 4;
    then?.(page, model);
    setTimeout(() => Object.assign(window, { settled: true }), 150);
  }, 50);
  return model;
}

const [name = "running", theme = "light"] = decodeURIComponent(location.hash.slice(1)).split(" ");
document.body.dataset.jpThemeLight = theme === "dark" ? "false" : "true";
Object.assign(window, { model: show(document.getElementById("page") as HTMLElement, name), waiting: views.running.rows[6] });

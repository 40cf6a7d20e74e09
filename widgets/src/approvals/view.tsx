// The inbox: every approval that waits, the one that expires first on top, then the oldest; below, those decided lately.

import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import type { Connection } from "../model";
import { Button, Outcomes, useCommands } from "../parts/buttons";
import { Card } from "../parts/card";
import { Footer, lineFor, Now } from "../parts/frame";
import { KeyList, useKeys } from "../parts/keys";
import { useConnection, useSecond } from "../parts/live";
import { Said } from "../parts/said";
import { Drawing } from "../parts/shapes";
import { count, json } from "../parts/words";
import type { Approval, ApprovalsView, Json } from "../types";
import { Decided } from "./decided";
import { Rules } from "./rules";

const FEW = 3;

export function ApprovalsPanel({ connection }: { connection: Connection<ApprovalsView> }): JSX.Element {
  useConnection(connection);
  if (connection.view === null) return <div class="wb-root wb-panel wb-empty">Nothing to show yet.</div>;
  return <Inbox view={connection.view} connection={connection} />;
}

function Inbox({ view, connection }: { view: ApprovalsView; connection: Connection<ApprovalsView> }): JSX.Element {
  const wide = connection as unknown as Connection<unknown>;
  const live = connection.phase === "live";
  const now = useSecond(connection, view.pending.length > 0 && connection.phase !== "gone");
  const root = useRef<HTMLDivElement>(null);
  const place = useRef<HTMLDivElement>(null);
  const [keys, setKeys] = useState(false);
  const [search, setSearch] = useState("");
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [all, setAll] = useState(false);
  const [rules, setRules] = useState(false);
  const written = view.rules ?? [];
  useKeys(root, { onList: () => setKeys(!keys), onLeave: () => place.current?.focus() });

  const shown = view.pending.map((approval, index) => ({ approval, index })).filter(({ approval }) => matches(approval, search));
  const chosen = shown.map(({ approval }) => approval).filter((approval) => selected.has(approval.id));
  const select = (id: string, on: boolean): void => {
    const next = new Set(selected);
    if (on) next.add(id);
    else next.delete(id);
    setSelected(next);
  };
  const selectAll = (on: boolean): void => setSelected(new Set(on ? shown.map(({ approval }) => approval.id) : []));
  const decided = (after: string): void => {
    const following = shown.findIndex(({ approval }) => approval.id === after);
    const next = (shown[following + 1] ?? shown[following - 1])?.approval.id;
    requestAnimationFrame(() => {
      const card = next === undefined ? null : root.current?.querySelector<HTMLElement>(`[data-wb-card="${CSS.escape(next)}"]`);
      (card ?? place.current)?.focus();
    });
  };
  const said = lineFor(wide, "What waits is in the journal.");
  return (
    <div class="wb-root wb-panel" ref={root} role="region" aria-label="Approvals">
      <header class="wb-header wb-inbox-head">
        <div class="wb-title">
          <span class="wb-name">Approvals</span>
          <span class={`wb-status ${view.pending.length > 0 ? "wb-ink-amber" : "wb-ink-grey"}`}>
            <Drawing name={view.pending.length > 0 ? "diamond" : "check"} />
            {count(view.pending.length)} pending
          </span>
          <label class="wb-search">
            <Drawing name="search" ink="grey" />
            <input class="wb-input wb-input-said" type="search" placeholder="Agent, tool, run or text" aria-label="Search the approvals" value={search} onInput={(event) => setSearch(event.currentTarget.value)} />
          </label>
        </div>
      </header>
      <Now line={said ?? view.now_line} actions={said === null ? view.actions : []} connection={wide} live={live} place={place} />
      <div class="wb-inbox">
        {(shown.length > 1 || written.length > 0 || rules) && (
          <div class="wb-selection">
            {shown.length > 1 && <Selection shown={shown.length} chosen={chosen} connection={wide} live={live} onAll={selectAll} onDone={(left) => setSelected(left)} />}
            <span class="wb-far wb-dim">
              {shown.length > 1 && <span class="wb-wide">expiring first, then oldest</span>}
              <Button look="quiet" small label={`Rules (${count(written.length)})`} pressed={rules} onPress={() => setRules(!rules)} />
            </span>
          </div>
        )}
        {rules && <Rules rules={written} connection={wide} live={live} now={now} />}
        {shown.map(({ approval, index }) => (
          <Card
            key={approval.id}
            approval={approval}
            path={`/pending/${index}`}
            connection={wide}
            live={live}
            now={now}
            inbox={{ selected: selected.has(approval.id), onSelect: (on) => select(approval.id, on) }}
            onDecided={(outcome) => "ok" in outcome && decided(approval.id)}
          />
        ))}
        {shown.length === 0 && search !== "" && <p class="wb-dim">No approval matches “{search}”.</p>}
      </div>
      {view.decided.length > 0 && (
        <Decided approvals={all ? view.decided : view.decided.slice(0, FEW)} total={view.decided_total} now={now}>
          {view.decided.length > FEW && <Button look="quiet" small label={all ? "Show less" : "Show all"} onPress={() => setAll(!all)} />}
        </Decided>
      )}
      {keys && <KeyList />}
      <Footer actions={<Button look="quiet" small label="Keys" cap="?" onPress={() => setKeys(!keys)} />}>
        <span class="wb-dim">J and K move between cards. A key acts only on the card that has the focus.</span>
      </Footer>
      <Said news={[]} approvals={new Map(view.pending.map((approval) => [approval.id, `Approval asked: ${approval.tool}. ${approval.sentence}`]))} />
    </div>
  );
}

function matches(approval: Approval, search: string): boolean {
  const wanted = search.trim().toLowerCase();
  return wanted === "" || `${approval.chain?.join(" ") ?? approval.agent} ${approval.tool} ${approval.run} ${approval.id} ${approval.sentence} ${json(approval.args)}`.toLowerCase().includes(wanted);
}

interface SelectionProps {
  shown: number;
  chosen: readonly Approval[];
  connection: Connection<unknown>;
  live: boolean;
  onAll(on: boolean): void;
  /** What is still selected: those that were not decided. */
  onDone(left: ReadonlySet<string>): void;
}

/** Decides several at once: each is bound to the arguments that its card shows, and those that were not decided are named. */
function Selection({ shown, chosen, connection, live, onAll, onDone }: SelectionProps): JSX.Element {
  const commands = useCommands(connection);
  const [reason, setReason] = useState<string | null>(null);
  const [left, setLeft] = useState<string[]>([]);
  const able = (command: string): Approval[] => chosen.filter((approval) => approval.actions.some((one) => one.command === command && one.enabled));
  const all = async (command: string, extra: { [key: string]: Json }): Promise<void> => {
    const ids = Object.fromEntries(able(command).map((approval) => [approval.id, approval.digest ?? null]));
    const outcome = await commands.send({ label: "", command: `${command}_all`, args: { ids }, enabled: true }, extra);
    if (outcome === null || "error" in outcome) return;
    const undecided = (outcome.ok as { undecided?: { [id: string]: string } }).undecided ?? {};
    setLeft(Object.values(undecided));
    setReason(null);
    onDone(new Set(Object.keys(undecided)));
  };
  const none = (command: string): boolean => able(command).length === 0 || !live;
  return (
    <>
      <input
        type="checkbox"
        class="wb-check"
        aria-label="Select all that are shown"
        checked={chosen.length === shown}
        ref={(box) => void (box !== null && (box.indeterminate = chosen.length > 0 && chosen.length < shown))}
        onChange={(event) => onAll(event.currentTarget.checked)}
      />
      <span class="wb-dim">
        {chosen.length} of {shown} selected
      </span>
      {reason === null ? (
        <>
          <Button label="Approve selected" disabled={none("approve")} doing={commands.busy === "approve_all" ? "Approving" : null} onPress={() => void all("approve", {})} />
          <Button label="Reject selected…" disabled={none("reject")} onPress={() => setReason("")} />
        </>
      ) : (
        <>
          <input class="wb-input wb-input-said" type="text" placeholder="Reason, shown to the model (optional)" aria-label="Reason, shown to the model" value={reason} onInput={(event) => setReason(event.currentTarget.value)} />
          <Button look="danger" label="Reject" disabled={none("reject")} doing={commands.busy === "reject_all" ? "Rejecting" : null} onPress={() => void all("reject", { reason })} />
          <Button label="Back" cap="Esc" onPress={() => setReason(null)} />
        </>
      )}
      <Outcomes commands={commands} />
      {left.length > 0 && (
        <p class="wb-refusal" role="alert">
          <Drawing name="octagon" ink="red" />
          <span>
            {count(left.length)} not decided: {left.join("; ")}
          </span>
        </p>
      )}
    </>
  );
}

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
import type { Approval, ApprovalsView } from "../types";
import { Decided } from "./decided";

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
        {shown.length > 1 && <Selection shown={shown.length} chosen={chosen} connection={wide} live={live} onAll={selectAll} onDone={() => setSelected(new Set())} />}
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
  onDone(): void;
}

/** Decides several at once: one command for each, so that each is bound to the arguments its card shows. */
function Selection({ shown, chosen, connection, live, onAll, onDone }: SelectionProps): JSX.Element {
  const commands = useCommands(connection);
  const [reason, setReason] = useState<string | null>(null);
  const each = async (command: string, extra: { [key: string]: string }): Promise<void> => {
    for (const approval of chosen) {
      const action = approval.actions.find((one) => one.command === command);
      const outcome = action === undefined ? null : await commands.send(action, extra);
      if (outcome !== null && "error" in outcome) return;
    }
    setReason(null);
    onDone();
  };
  const none = chosen.length === 0 || !live;
  return (
    <div class="wb-selection">
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
          <Button label="Approve selected" disabled={none} doing={commands.busy === "approve" ? "Approving" : null} onPress={() => void each("approve", {})} />
          <Button label="Reject selected…" disabled={none} onPress={() => setReason("")} />
        </>
      ) : (
        <>
          <input class="wb-input wb-input-said" type="text" placeholder="Reason, shown to the model (optional)" aria-label="Reason, shown to the model" value={reason} onInput={(event) => setReason(event.currentTarget.value)} />
          <Button look="danger" label="Reject" disabled={none} doing={commands.busy === "reject" ? "Rejecting" : null} onPress={() => void each("reject", { reason })} />
          <Button label="Back" cap="Esc" onPress={() => setReason(null)} />
        </>
      )}
      <span class="wb-far wb-dim wb-wide">expiring first, then oldest</span>
      <Outcomes commands={commands} />
    </div>
  );
}

// The run panel: header, facts, now line, timeline or what Recover will do, output, footer. Plain state in, elements out.

import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import type { Connection } from "../model";
import { Button } from "../parts/buttons";
import { Budget, Fact, Footer, footerActions, Header, lineFor, Now, SHOW, UsageFacts } from "../parts/frame";
import { KeyList, useKeys } from "../parts/keys";
import { useConnection, useFolds, useSecond } from "../parts/live";
import { Said } from "../parts/said";
import { Drawing, Status } from "../parts/shapes";
import { Stages } from "../parts/stages";
import { capital, clock, count, elapsed, plural, visible } from "../parts/words";
import type { Action, RunView } from "../types";
import { Recovery } from "./recovery";
import { speaker } from "./rules";
import { Timeline } from "./timeline";

export function RunPanel({ connection }: { connection: Connection<RunView> }): JSX.Element {
  useConnection(connection);
  const [paused, setPaused] = useState<RunView | null>(null);
  const view = paused ?? connection.view;
  if (view === null) return <div class="wb-root wb-panel wb-empty">Nothing to show yet.</div>;
  return <Panel key={view.id} view={view} connection={connection} paused={paused} setPaused={setPaused} />;
}

interface PanelProps {
  view: RunView;
  connection: Connection<RunView>;
  paused: RunView | null;
  setPaused(view: RunView | null): void;
}

function Panel({ view, connection, paused, setPaused }: PanelProps): JSX.Element {
  const wide = connection as unknown as Connection<unknown>;
  const ended = view.ended_at !== null;
  const gone = connection.phase === "gone" || connection.late;
  const live = connection.phase === "live";
  const now = useSecond(connection, !ended && !gone && view.alive && paused === null);
  const folds = useFolds(view.id);
  const root = useRef<HTMLDivElement>(null);
  const place = useRef<HTMLDivElement>(null);
  const [keys, setKeys] = useState(false);
  const [below, setBelow] = useState(0);
  const [all, setAll] = useState(false);
  const killed = !view.alive && !ended;
  useKeys(root, { onList: () => setKeys(!keys), onLeave: () => place.current?.focus() });
  const waiting = view.rows.flatMap((row) => (row.kind === "call" && row.approval?.status === "pending" ? [row] : []));
  const pending = waiting.flatMap((row) => (row.approval === null ? [] : [row.approval]));
  const until = ended ? (view.ended_at as number) : killed ? (view.killed_at ?? view.now) : connection.late || paused !== null ? view.now : now;

  const showApproval = (): void => {
    const first = waiting[0];
    if (first === undefined) return;
    folds.set(first.id, true);
    requestAnimationFrame(() => {
      const card = root.current?.querySelector<HTMLElement>("[data-wb-card]");
      card?.scrollIntoView({ block: "nearest" });
      card?.focus({ preventScroll: true });
    });
  };
  const decided = (): void => {
    requestAnimationFrame(() => {
      const card = root.current?.querySelector<HTMLElement>("[data-wb-card]");
      (card ?? place.current)?.focus({ preventScroll: card === null });
    });
  };
  const said = lineFor(wide, `The journal has everything up to event ${count(view.committed)}.`);
  const line = said ?? view.now_line;
  const timelineShown = !(killed && view.recovery.length > 0) || gone;
  return (
    <div class="wb-root wb-panel" ref={root} role="region" aria-label={`Run ${view.id} of ${view.agent}`}>
      <Header
        status={<RunStatus view={view} gone={gone} killed={killed} />}
        name={view.agent}
        id={view.id}
        actions={view.actions.filter((action) => action.label !== SHOW)}
        elsewhere={said === null ? view.now_line.action : "Recover"}
        connection={wide}
        live={live}
        asks={{ cancel: `Cancel ${view.id} for good?${pending.length > 0 ? ` ${plural(pending.length, "approval")} will be closed.` : ""}` }}
      >
        <Facts view={view} until={until} />
      </Header>
      <Now line={line} actions={said === null ? view.actions : []} connection={wide} live={live} place={place} {...(pending.length > 0 && said === null ? { onShow: showApproval } : {})} />
      {timelineShown ? (
        <Timeline
          view={view}
          until={until}
          connection={wide}
          live={live}
          gone={gone}
          killed={killed}
          fixed={!ended && !all}
          folds={folds}
          onBelow={setBelow}
          onDecided={decided}
        />
      ) : (
        <Recovery groups={view.recovery} last={lastRecord(view)} />
      )}
      {view.stages != null && <Stages graph={view.stages} />}
      {view.output.length > 0 && <Output lines={view.output} open={folds.is("output", false)} onToggle={(open) => folds.set("output", open)} />}
      {keys && <KeyList />}
      <RunFooter
        view={view}
        connection={connection}
        actions={footerActions(view.actions)}
        below={below}
        killed={killed}
        gone={gone}
        pending={pending[0]?.id ?? null}
        all={all}
        setAll={ended || !timelineShown ? null : setAll}
        paused={paused}
        setPaused={ended || killed || gone ? null : setPaused}
        onKeys={() => setKeys(!keys)}
      />
      <Heard view={view} />
    </div>
  );
}

function RunStatus({ view, gone, killed }: { view: RunView; gone: boolean; killed: boolean }): JSX.Element {
  if (gone && view.ended_at === null) return <Status status="killed" says={`${capital(view.status)} when last seen`} strong />;
  if (killed) return <Status status="killed" says={`${capital(view.status)}, killed`} strong />;
  return (
    <>
      <Status status={view.status} strong />
      {view.elsewhere !== null && (
        <span class="wb-status wb-ink-grey">
          <Drawing name="elsewhere" /> elsewhere, {view.elsewhere}
        </span>
      )}
    </>
  );
}

function Facts({ view, until }: { view: RunView; until: number }): JSX.Element {
  const { usage, budget } = view;
  return (
    <dl class="wb-facts">
      <Fact label="Elapsed" width={72}>
        {elapsed(until - view.began_at)}
      </Fact>
      {view.holder !== undefined && view.holder !== view.agent && <Fact label="Now with">{visible(view.holder)}</Fact>}
      <UsageFacts usage={usage} />
      {view.fork !== undefined && (
        <Fact label="Forked from">
          <span class="wb-code">{view.fork.of}</span> before {view.fork.before}, {plural(view.fork.saved.turns, "turn")} shared
        </Fact>
      )}
      {budget !== null && (
        <Fact label={budget.of === "bench" ? "Budget of the bench" : "Budget"}>
          <Budget {...budget} />
        </Fact>
      )}
    </dl>
  );
}

function lastRecord(view: RunView): string {
  const life = view.lives[view.lives.length - 1];
  return life?.ended_at == null ? "" : `the last record is of ${clock(life.ended_at)}`;
}

function Output({ lines, open, onToggle }: { lines: readonly string[]; open: boolean; onToggle(open: boolean): void }): JSX.Element {
  return (
    <section class="wb-output">
      <button type="button" class="wb-unfold" aria-expanded={open} data-wb-stop="" onClick={() => onToggle(!open)}>
        <Drawing name={open ? "down" : "right"} />
        <span>
          <b>Output</b> <span class="wb-dim">{plural(lines.length, "line")}, printed by this run</span>
        </span>
      </button>
      {open && <pre class="wb-code">{visible(lines.join("\n"))}</pre>}
    </section>
  );
}

interface FooterProps {
  view: RunView;
  connection: Connection<RunView>;
  actions: Action[];
  below: number;
  killed: boolean;
  gone: boolean;
  pending: string | null;
  all: boolean;
  setAll: ((all: boolean) => void) | null;
  paused: RunView | null;
  setPaused: ((view: RunView | null) => void) | null;
  onKeys(): void;
}

function RunFooter(props: FooterProps): JSX.Element {
  const { view, paused, gone } = props;
  const latest = props.connection.view ?? view;
  const waiting = paused === null ? 0 : latest.committed + latest.uncommitted - paused.committed - paused.uncommitted;
  return (
    <Footer
      actions={
        gone ? (
          <span class="wb-dim">
            Buttons are off.
            {props.pending !== null && (
              <>
                {" "}
                Command line: <span class="wb-code">workbench approve {props.pending}</span>
              </>
            )}
          </span>
        ) : (
          <>
            {props.below > 0 && <Button look="quiet" small label={`${props.below} new below`} name="below" onPress={() => scrollDown()} />}
            {props.setAll !== null && <Button look="quiet" small label={props.all ? "Show less" : "Show all"} onPress={() => props.setAll?.(!props.all)} />}
            {props.setPaused !== null && (
              <Button
                look="quiet"
                small
                pressed={paused !== null}
                label={paused === null ? "Pause updates" : waiting > 0 ? `Go on, ${count(waiting)} waiting` : "Go on"}
                onPress={() => props.setPaused?.(paused === null ? props.connection.view : null)}
              />
            )}
            <Button look="quiet" small label="Keys" cap="?" onPress={props.onKeys} />
          </>
        )
      }
    >
      <Drawing name="commit" />
      <span class="wb-dim">{committed(view, props.killed)}</span>
      {view.uncommitted > 0 && (
        <span class="wb-status wb-ink-amber">
          <Drawing name="square" /> {count(view.uncommitted)} not committed yet
        </span>
      )}
    </Footer>
  );

  function scrollDown(): void {
    const box = document.activeElement?.closest(".wb-panel")?.querySelector(".wb-timeline");
    if (box != null) box.scrollTop = box.scrollHeight;
  }
}

function committed(view: RunView, killed: boolean): string {
  if (view.ended_at !== null && view.uncommitted === 0) return `committed, all ${plural(view.committed, "event")}`;
  return `committed up to event ${count(view.committed)}${killed ? ", nothing more is written until you recover it" : ""}`;
}

/** What a screen reader is told of the rows. */
function Heard({ view }: { view: RunView }): JSX.Element {
  const news = view.rows.flatMap((row) => {
    if (row.kind === "message") return row.streaming ? [] : [`${speaker(row)}: ${typeof row.text === "string" ? row.text.slice(0, 200) : "a long text"}`];
    return [`${row.tool} asked for.`, ...(row.status === "running" || row.status === "waiting" ? [] : [`${row.tool}: ${row.status}.`])];
  });
  const approvals = new Map(
    view.rows.flatMap((row) => (row.kind === "call" && row.approval?.status === "pending" ? [[row.approval.id, `Approval asked: ${row.tool}. ${row.approval.sentence}`] as const] : [])),
  );
  return <Said news={news} approvals={approvals} />;
}


// The team panel: facts of the whole team, what it waits for, who asked whom as a graph and as a table.

import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import type { Connection } from "../model";
import { type Axis, makeAxis } from "../parts/axis";
import { Lane } from "../parts/bars";
import { Button } from "../parts/buttons";
import { Card } from "../parts/card";
import { Budget, Fact, Footer, Header, lineFor, Now, SHOW, UsageFacts } from "../parts/frame";
import { KeyList, useKeys } from "../parts/keys";
import { useConnection, useSecond } from "../parts/live";
import { Said } from "../parts/said";
import { Drawing, Status } from "../parts/shapes";
import { Stages } from "../parts/stages";
import { capital, cost, count, elapsed, plural, visible } from "../parts/words";
import type { TeamRow, TeamView } from "../types";
import { Graph } from "./graph";

type As = "graph" | "table" | "both";

export function TeamPanel({ connection }: { connection: Connection<TeamView> }): JSX.Element {
  useConnection(connection);
  if (connection.view === null) return <div class="wb-root wb-panel wb-empty">Nothing to show yet.</div>;
  return <Panel key={connection.view.id} view={connection.view} connection={connection} />;
}

function Panel({ view, connection }: { view: TeamView; connection: Connection<TeamView> }): JSX.Element {
  const wide = connection as unknown as Connection<unknown>;
  const ended = view.ended_at !== null;
  const gone = connection.phase === "gone" || connection.late;
  const live = connection.phase === "live";
  const now = useSecond(connection, !ended && !gone && view.alive);
  const root = useRef<HTMLDivElement>(null);
  const place = useRef<HTMLDivElement>(null);
  const [keys, setKeys] = useState(false);
  const [as, setAs] = useState<As>("both");
  useKeys(root, { onList: () => setKeys(!keys), onLeave: () => place.current?.focus() });
  const said = lineFor(wide, "The journal has everything that was committed.");
  const until = view.ended_at ?? (connection.late || !view.alive ? view.now : now);
  const focusCard = (): void => {
    requestAnimationFrame(() => {
      const card = root.current?.querySelector<HTMLElement>("[data-wb-card]");
      card?.scrollIntoView({ block: "nearest" });
      (card ?? place.current)?.focus({ preventScroll: true });
    });
  };
  const waiting = view.pending.length;
  return (
    <div class="wb-root wb-panel" ref={root} role="region" aria-label={`Team of ${view.agent}, run ${view.id}`}>
      <Header
        status={<TeamStatus view={view} gone={gone} />}
        name={view.agent}
        id={view.id}
        actions={view.actions.filter((action) => action.label !== SHOW)}
        elsewhere={said === null ? view.now_line.action : "Recover"}
        connection={wide}
        live={live}
        asks={{ cancel: `Cancel ${view.id} and all that it asked for good?${waiting > 0 ? ` ${plural(waiting, "approval")} will be closed.` : ""}` }}
      >
        <Facts view={view} until={until} />
      </Header>
      <Now line={said ?? view.now_line} actions={said === null ? view.actions : []} connection={wide} live={live} place={place} {...(waiting > 0 && said === null ? { onShow: focusCard } : {})} />
      {view.pending.map((approval, index) => (
        <div class="wb-team-ask" key={approval.id}>
          <Card approval={approval} path={`/pending/${index}`} connection={wide} live={live} now={now} onDecided={focusCard} />
        </div>
      ))}
      <section class="wb-team" aria-label="Who called whom">
        <header>
          <h4>Who called whom</h4>
          <span class="wb-segments wb-wide" role="group" aria-label="Show the team as">
            {(["graph", "table", "both"] as const).map((one) => (
              <Button key={one} small look="quiet" label={capital(one)} pressed={as === one} onPress={() => setAs(one)} />
            ))}
          </span>
        </header>
        {as !== "table" && <Graph view={view} />}
        <Table view={view} until={until} hidden={as === "graph"} />
      </section>
      {view.stages !== null && <Stages graph={view.stages} />}
      {keys && <KeyList />}
      <Footer actions={<Button look="quiet" small label="Keys" cap="?" onPress={() => setKeys(!keys)} />}>
        <Drawing name="commit" />
        <span class="wb-dim">{plural(view.rows.filter((row) => row.status !== "not started").length, "run")}, each with its own journal</span>
      </Footer>
      <Heard view={view} />
    </div>
  );
}

function TeamStatus({ view, gone }: { view: TeamView; gone: boolean }): JSX.Element {
  if (gone && view.ended_at === null) return <Status status="killed" says={`${capital(view.status)} when last seen`} strong />;
  if (!view.alive && view.ended_at === null) return <Status status="killed" says={`${capital(view.status)}, killed`} strong />;
  return <Status status={view.status} strong />;
}

function Facts({ view, until }: { view: TeamView; until: number }): JSX.Element {
  const { usage, budget } = view;
  return (
    <dl class="wb-facts">
      <Fact label="Elapsed" width={72}>
        {elapsed(until - view.began_at)}
      </Fact>
      <Fact label="Agents" width={96}>
        {count(view.agents)}, {count(view.active)} active
      </Fact>
      <UsageFacts usage={usage} />
      {budget !== null && (
        <Fact label="Budget of the whole team">
          <Budget {...budget} />
        </Fact>
      )}
    </dl>
  );
}

function Table({ view, until, hidden }: { view: TeamView; until: number; hidden: boolean }): JSX.Element {
  const axis = makeAxis(view.began_at, until, view.rows.flatMap((row) => row.spans), []);
  return (
    <div class={hidden ? "wb-heard" : "wb-team-rows"}>
      <table>
        <thead>
          <tr>
            <th>Status</th>
            <th>Agent</th>
            <th class="wb-wide">Called by</th>
            <th class="wb-wide">Part</th>
            <th class="wb-number wb-wide">Model calls</th>
            <th class="wb-number wb-wide">Tokens</th>
            <th class="wb-number wb-wide">Cost</th>
            <th class="wb-wide">0 to {elapsed(until - view.began_at)}</th>
            <th class="wb-number">Took</th>
          </tr>
        </thead>
        <tbody>
          {view.rows.map((row) => (
            <Row key={row.id} row={row} axis={axis} until={until} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({ row, axis, until }: { row: TeamRow; axis: Axis; until: number }): JSX.Element {
  const { usage } = row;
  const begun = row.status !== "not started";
  const last = row.spans[0]?.began_at;
  return (
    <tr class={row.active ? "wb-team-active" : undefined}>
      <td>
        <Status status={row.status} />
      </td>
      <th scope="row" style={{ paddingLeft: `${8 + row.depth * 16}px` }} title={begun ? row.id : undefined}>
        {visible(row.agent)}
      </th>
      <td class="wb-wide wb-dim">{visible(row.called_by)}</td>
      <td class="wb-wide wb-dim">{visible(row.part)}</td>
      <td class="wb-number wb-wide">{count(usage.model_calls)}</td>
      <td class="wb-number wb-wide">{usage.input_tokens === null ? (usage.model_calls > 0 ? "not reported" : "0") : count(usage.input_tokens + (usage.output_tokens ?? 0))}</td>
      <td class="wb-number wb-wide">{usage.cost_microdollars === null ? (usage.model_calls > 0 ? "no price" : "") : cost(usage.cost_microdollars)}</td>
      <td class="wb-wide wb-team-lane">
        <Lane small axis={axis} spans={row.spans} now={until} />
      </td>
      <td class="wb-number">{row.took !== null ? elapsed(row.took) : last !== undefined ? elapsed(until - last) : ""}</td>
    </tr>
  );
}

/** What a screen reader is told while the team works. */
function Heard({ view }: { view: TeamView }): JSX.Element {
  const news = view.rows.flatMap((row) => (row.status === "not started" ? [] : [`${row.agent} was asked.`, ...(["running", "queued", "waiting"].includes(row.status) ? [] : [`${row.agent}: ${row.status}.`])]));
  const approvals = new Map(view.pending.map((one) => [one.id, `Approval asked by ${one.agent}: ${one.tool}. ${one.sentence}`] as const));
  return <Said news={news} approvals={approvals} />;
}

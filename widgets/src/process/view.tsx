// The process inspector: what it is doing, its state with what changed marked, and how each of its lives ended.

import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import type { Connection } from "../model";
import { Button } from "../parts/buttons";
import { Fact, Footer, Header, lineFor, Now } from "../parts/frame";
import { KeyList, useKeys } from "../parts/keys";
import { useConnection, useFolds, useSecond } from "../parts/live";
import { Drawing, drawingOf, Shape, Status } from "../parts/shapes";
import { Stages } from "../parts/stages";
import { capital, clock, count, elapsed, plural, visible } from "../parts/words";
import type { Life, ProcessView } from "../types";
import { Tree } from "./tree";

export function ProcessPanel({ connection }: { connection: Connection<ProcessView> }): JSX.Element {
  useConnection(connection);
  if (connection.view === null) return <div class="wb-root wb-panel wb-empty">Nothing to show yet.</div>;
  return <Inspector view={connection.view} connection={connection} />;
}

function Inspector({ view, connection }: { view: ProcessView; connection: Connection<ProcessView> }): JSX.Element {
  const wide = connection as unknown as Connection<unknown>;
  const live = connection.phase === "live";
  const gone = connection.phase === "gone" || connection.late;
  const now = useSecond(connection, view.next_wake !== null && !gone);
  const folds = useFolds(view.key ?? view.name);
  const root = useRef<HTMLDivElement>(null);
  const place = useRef<HTMLDivElement>(null);
  const [keys, setKeys] = useState(false);
  useKeys(root, { onList: () => setKeys(!keys), onLeave: () => place.current?.focus() });
  const said = lineFor(wide, view.key === null ? "It was not durable." : "The journal has everything that was committed.");
  return (
    <div class="wb-root wb-panel" ref={root} role="region" aria-label={`Process ${view.key ?? view.name}`}>
      <Header
        status={gone && view.alive ? <Status status="killed" says={`${capital(view.status)} when last seen`} strong /> : <Status status={view.status} strong />}
        name={view.name}
        id={view.key ?? ""}
        actions={view.actions}
        elsewhere={said === null ? view.now_line.action : "Recover"}
        connection={wide}
        live={live}
        asks={{}}
      >
        <Facts view={view} now={now} />
      </Header>
      <Now line={said ?? view.now_line} actions={said === null ? view.actions : []} connection={wide} live={live} place={place} />
      <div class="wb-columns">
        <Tree view={view} connection={wide} folds={folds} />
        <Lives lives={view.lives} now={now} />
      </div>
      {view.stages != null && <Stages graph={view.stages} />}
      {view.error !== null && (
        <p class="wb-process-error wb-ink-red">
          <Drawing name="octagon" ink="red" />
          <span class="wb-code wb-wrap">
            {visible(`${view.error.type}: ${view.error.message}`)}
          </span>
        </p>
      )}
      {keys && <KeyList />}
      <Footer actions={<Button look="quiet" small label="Keys" cap="?" onPress={() => setKeys(!keys)} />}>
        {view.committed ? (
          <>
            <Drawing name="commit" />
            <span class="wb-dim">{view.key === null ? "not durable, this state lives as long as the kernel" : "committed"}</span>
          </>
        ) : (
          <span class="wb-status wb-ink-amber">
            <Drawing name="square" /> not committed yet
          </span>
        )}
      </Footer>
    </div>
  );
}

function Facts({ view, now }: { view: ProcessView; now: number }): JSX.Element {
  const owner = view.elsewhere !== null ? `elsewhere, ${view.elsewhere}` : view.alive ? "this kernel" : "nobody";
  return (
    <dl class="wb-facts">
      <Fact label="Owner" width={156}>
        {owner}
      </Fact>
      {view.epoch !== null && (
        <Fact label="Epoch" width={64}>
          {count(view.epoch)}
        </Fact>
      )}
      <Fact label="Mailbox" width={112}>
        {plural(view.pending, "message")}
      </Fact>
      {view.next_wake !== null && (
        <Fact label="Next wake" width={150}>
          {clock(view.next_wake)}
          {view.next_wake > now ? `, in ${elapsed(view.next_wake - now)}` : ""}
        </Fact>
      )}
    </dl>
  );
}

const SHOWN = 5;

function Lives({ lives, now }: { lives: readonly Life[]; now: number }): JSX.Element {
  const newest = [...lives].reverse().slice(0, SHOWN);
  return (
    <section class="wb-lives" aria-label="Activations">
      <h4>
        Activations <span class="wb-dim">{lives.length > SHOWN ? `newest ${SHOWN} of ${count(lives.length)}` : count(lives.length)}</span>
      </h4>
      {newest.map((life) => {
        const how = life.how ?? (life.ended_at === null ? "running" : "lost");
        return (
          <p key={life.epoch} class="wb-life">
            <span>{count(life.epoch)}</span>
            <span class={`wb-status wb-ink-${drawingOf(how)[1]}`}>
              <Shape status={how} /> {how}
              {life.by ? ` by ${visible(life.by)}` : ""}
            </span>
            <span class="wb-dim">
              {life.ended_at === null ? `since ${clock(life.began_at, now)}` : `${clock(life.began_at, now)} to ${clock(life.ended_at, now)}`}
            </span>
          </p>
        );
      })}
    </section>
  );
}

// The frame of every panel: header, facts, now line, footer, in the same order everywhere.

import type { ComponentChildren, JSX, RefObject } from "preact";
import { useState } from "preact/hooks";
import type { Connection } from "../model";
import type { Action, BudgetView, NowLine, Tone, Usage } from "../types";
import { ActionButton, Button, type Commands, Outcomes, useCommands } from "./buttons";
import { Drawing, Shape } from "./shapes";
import { clock, count, spent, tokens, visible } from "./words";

/** The one action that the view carries out itself. */
export const SHOW = "Show approval";

const FOOTER = new Set(["fork", "journal", "test", "compare"]);

export function footerActions(actions: readonly Action[]): Action[] {
  return actions.filter((action) => FOOTER.has(action.command));
}

interface HeaderProps {
  status: JSX.Element;
  name: string;
  id: string;
  actions: readonly Action[];
  /** The label of the action that the now line carries. */
  elsewhere: string | null;
  connection: Connection<unknown>;
  live: boolean;
  /** What is asked before an action that asks: "Cancel run-7f3a for good?". */
  asks: Record<string, string>;
  children?: ComponentChildren;
}

export function Header(props: HeaderProps): JSX.Element {
  const commands = useCommands(props.connection);
  const [asking, setAsking] = useState<Action | null>(null);
  const actions = props.actions.filter((action) => action.label !== props.elsewhere && !FOOTER.has(action.command));
  const press = (action: Action): void => {
    if (props.asks[action.command] !== undefined) setAsking(action);
    else void commands.send(action);
  };
  return (
    <header class="wb-header">
      <div class="wb-title">
        {props.status}
        <span class="wb-name">{visible(props.name)}</span>
        <span class="wb-id" title={props.id}>
          {visible(props.id)}
        </span>
        <span class="wb-header-actions">
          {actions.map((action) => (
            <ActionButton key={action.command} action={action} commands={commands} live={props.live} onPress={() => press(action)} />
          ))}
        </span>
      </div>
      {asking !== null && (
        <Asking
          question={props.asks[asking.command] ?? ""}
          action={asking}
          live={props.live}
          commands={commands}
          onYes={() => {
            setAsking(null);
            void commands.send(asking);
          }}
          onNo={() => setAsking(null)}
        />
      )}
      <Outcomes commands={commands} />
      {props.children}
    </header>
  );
}

function Asking(props: { question: string; action: Action; live: boolean; commands: Commands; onYes(): void; onNo(): void }): JSX.Element {
  return (
    <div class="wb-asking" role="group" aria-label={props.question} onKeyDown={(event) => event.key === "Escape" && props.onNo()}>
      <span>{props.question}</span>
      <Button small look="danger" label={props.action.label} disabled={!props.live} onPress={props.onYes} />
      <Button small label="Back" cap="Esc" onPress={props.onNo} />
    </div>
  );
}

/** One fact: its label above its value. `width` is that of the longest normal value, so that the next one never moves. */
export function Fact(props: { label: string; width?: number; children: ComponentChildren }): JSX.Element {
  return (
    <div class="wb-fact" style={props.width === undefined ? undefined : { minWidth: `${props.width}px` }}>
      <dt>{props.label}</dt>
      <dd>{props.children}</dd>
    </div>
  );
}

/** What models were asked for: calls, tokens, cost. */
export function UsageFacts({ usage }: { usage: Usage }): JSX.Element {
  return (
    <>
      <Fact label="Model calls" width={84}>
        {count(usage.model_calls)}
      </Fact>
      <Fact label="Tokens" width={152}>
        {tokens(usage)}
      </Fact>
      <Fact label="Cost" width={84}>
        {spent(usage)}
      </Fact>
    </>
  );
}

/** A budget: the bar and the numbers beside it. Amber from 80 %, red when used up, each with its shape and word. */
export function Budget({ used, limit, unit }: BudgetView): JSX.Element {
  const part = limit > 0 ? used / limit : 1;
  const state = part >= 1 ? "red" : part >= 0.8 ? "amber" : "plain";
  return (
    <span class={`wb-budget wb-budget-${state}`}>
      <span class="wb-meter" aria-hidden="true">
        <i style={{ width: `${Math.min(100, part * 100)}%` }} />
      </span>
      {state === "red" && <Drawing name="octagon" ink="red" />}
      {state === "amber" && <Drawing name="diamond" ink="amber" />}
      <span class="wb-wide">
        {used.toLocaleString("en-US")} of {limit.toLocaleString("en-US")} {unit}
        {state === "red" ? ", used up" : ""}
      </span>
      <span class="wb-slim">{state === "red" ? "used up" : `${Math.floor(part * 100)} % of ${unit}`}</span>
    </span>
  );
}

interface LineProps {
  line: NowLine;
  actions: readonly Action[];
  connection: Connection<unknown>;
  live: boolean;
  place: RefObject<HTMLDivElement | null>;
  onShow?: () => void;
}

/** The one sentence, and at most one button. */
export function Now(props: LineProps): JSX.Element {
  const { line } = props;
  const commands = useCommands(props.connection);
  const show = line.action === SHOW && props.onShow !== undefined;
  const action = props.actions.find((one) => one.label === line.action && one.label !== SHOW);
  return (
    <div class={`wb-now wb-now-${line.tone}`} ref={props.place} tabIndex={-1}>
      <span class="wb-now-shape">
        <Shape status={line.shape} />
      </span>
      <p class="wb-now-says" role="status">
        <b>{visible(line.strong)}</b> {visible(line.text)}
      </p>
      {show ? (
        <Button small label={SHOW} onPress={() => props.onShow?.()} />
      ) : action !== undefined ? (
        <ActionButton small action={action} commands={commands} live={props.live} />
      ) : null}
      <Outcomes commands={commands} />
    </div>
  );
}

/** The now line of a view whose kernel does not answer, or could not make the view; null while all is well. */
export function lineFor(connection: Connection<unknown>, has: string): NowLine | null {
  const tone: Tone = "violet";
  if (connection.phase === "gone") {
    const since = connection.goneAt === null ? "" : `, since ${clock(connection.goneAt / 1000)}`;
    const text = `${has} Start a kernel and run the cell that opens the bench.`;
    return { tone, shape: "unplugged", strong: `The kernel is gone${since}.`, text, action: null };
  }
  if (connection.late) {
    const text = "It is busy in a cell, or this is a saved picture. Buttons act when it answers.";
    return { tone, shape: "unplugged", strong: "The kernel has not answered.", text, action: null };
  }
  if (connection.failure !== null) {
    return { tone: "red", shape: "failed", strong: "This view could not be made:", text: connection.failure, action: null };
  }
  return null;
}

export function Footer(props: { children: ComponentChildren; actions: ComponentChildren }): JSX.Element {
  return (
    <footer class="wb-footer">
      <span class="wb-footer-says">{props.children}</span>
      <span class="wb-footer-actions">{props.actions}</span>
    </footer>
  );
}

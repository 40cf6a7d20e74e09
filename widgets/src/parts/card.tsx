// The approval card: one question, what it will do, its arguments, and the buttons that answer it. The same card stands in a
// run's timeline and in the inbox. It shows the arguments that will run; the kernel binds the decision to their digest.

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Connection, Outcome } from "../model";
import type { Action, Approval, Json } from "../types";
import { ActionButton, Button, type Commands, Outcomes, useCommands } from "./buttons";
import { AnswerForm, EditForm } from "./form";
import { masked } from "./schema";
import { useSettled } from "./settled";
import { Drawing } from "./shapes";
import { Value, whole } from "./values";
import { DOTS, elapsed, isCut, pointer, utc, visible } from "./words";

const SOON = 300;

interface CardProps {
  approval: Approval;
  path: string;
  connection: Connection<unknown>;
  live: boolean;
  now: number;
  /** In the inbox: who asks, a box to select it, and a head without tint. */
  inbox?: { selected: boolean; onSelect(selected: boolean): void };
  onDecided(outcome: Outcome): void;
}

type Mode = "ask" | "edit" | "reject" | "answer" | "always";

export function Card(props: CardProps): JSX.Element {
  const { approval, connection, live, now, inbox } = props;
  const [mode, setMode] = useState<Mode>("ask");
  const [editing, setEditing] = useState<{ [key: string]: Json } | null>(null);
  const commands = useCommands(connection);
  const card = useRef<HTMLElement>(null);
  const settled = useSettled(card);
  const find = (command: string): Action | undefined => approval.actions.find((action) => action.command === command);

  const decide = async (action: Action, extra?: { [key: string]: Json }): Promise<void> => {
    const outcome = await commands.send(action, extra);
    if (outcome !== null) props.onDecided(outcome);
  };
  const back = (): void => {
    setMode("ask");
    card.current?.focus();
  };
  const open = async (next: Mode): Promise<void> => {
    if (next === "edit") setEditing(await complete(approval, props.path, connection));
    setMode(next);
  };
  const keys = (event: KeyboardEvent): void => {
    if (event.key === "Escape" && mode !== "ask") {
      event.stopPropagation();
      back();
    } else if (event.target === card.current && mode === "ask" && live && !event.ctrlKey && !event.metaKey && !event.altKey) {
      const command = { a: "approve", e: "edit", r: "reject" }[event.key.toLowerCase()];
      const action = command === undefined ? undefined : find(command);
      if (action === undefined || !action.enabled || event.repeat) return;
      event.stopPropagation();
      event.preventDefault();
      if (command === "approve") settled() && void decide(action);
      else void open(command as Mode);
    }
  };
  const wants = approval.asks === "input_required";
  const soon = approval.expires_at !== null && approval.expires_at - now <= SOON;
  return (
    <section
      ref={card}
      class={`wb-card${inbox === undefined || soon ? " wb-card-tinted" : ""}`}
      tabIndex={-1}
      data-wb-stop=""
      data-wb-card={approval.id}
      aria-label={`${wants ? "Value" : "Approval"} asked: ${approval.tool}`}
      onKeyDown={keys}
    >
      <header class="wb-card-head">
        {inbox !== undefined && (
          <input
            type="checkbox"
            class="wb-check"
            aria-label={`Select ${approval.tool} of ${approval.run}`}
            checked={inbox.selected}
            onChange={(event) => inbox.onSelect(event.currentTarget.checked)}
          />
        )}
        <Drawing name="diamond" ink="amber" />
        <span class="wb-card-question">
          <b>
            {wants ? "Asked by" : "Approve"} <span class="wb-code">{visible(approval.tool)}</span>
            {wants ? null : "?"}
          </b>
          {inbox !== undefined && (
            <span class="wb-dim">
              {asker(approval)}, <span class="wb-code">{approval.run}</span>
            </span>
          )}
          {inbox === undefined && (approval.chain?.length ?? 0) > 2 && <span class="wb-dim">{asker(approval)}</span>}
        </span>
        <span class="wb-card-age wb-dim" title={utc(approval.asked_at)}>
          asked {elapsed(now - approval.asked_at)} ago{inbox === undefined && approval.expires_at === null ? <span class="wb-wide">, no expiry</span> : null}
        </span>
      </header>
      <div class="wb-card-body">
        {mode === "edit" && editing !== null ? (
          <EditForm
            approval={approval}
            args={editing}
            commands={commands}
            live={live}
            ready={settled}
            onApprove={(args) => void decide(find("edit") as Action, { args })}
            onBack={back}
          />
        ) : (
          <>
            <p class="wb-card-says">
              {visible(approval.sentence)} {!wants && <span class="wb-dim">{approval.act} Nothing has happened yet.</span>}
            </p>
            {!wants && (approval.message ?? "") !== "" && <p class="wb-card-why wb-dim">Asked because: {visible(String(approval.message))}</p>}
            <Arguments approval={approval} path={props.path} connection={connection} />
            {approval.expires_at !== null && <Expiry approval={approval} now={now} soon={soon} />}
            <Answers mode={mode} approval={approval} live={live} commands={commands} settled={settled} decide={decide} open={open} back={back} />
          </>
        )}
        <Outcomes commands={commands} />
      </div>
    </section>
  );
}

/** Who asks: the agent, or who asked whom down to it. */
export function asker(approval: Approval): string {
  return visible((approval.chain?.slice(0, -1) ?? [approval.agent]).join(" → "));
}

/** The arguments with everything that was cut off, so that an edit sends back what it was given. */
async function complete(approval: Approval, path: string, connection: Connection<unknown>): Promise<{ [key: string]: Json }> {
  const args: { [key: string]: Json } = {};
  for (const [name, value] of Object.entries(approval.args)) {
    args[name] = isCut(value) ? await whole(value, `${path}/args${pointer(name)}`, connection) : value;
  }
  return args;
}

function Arguments({ approval, path, connection }: { approval: Approval; path: string; connection: Connection<unknown> }): JSX.Element {
  return (
    <dl class="wb-arguments">
      {Object.entries(masked(approval.args, approval.schema, approval.secret)).map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <Value value={value} path={`${path}/args${pointer(name)}`} connection={connection} secret={value === DOTS} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Expiry({ approval, now, soon }: { approval: Approval; now: number; soon: boolean }): JSX.Element {
  const whole = (approval.expires_at as number) - approval.asked_at;
  const left = Math.max(0, (approval.expires_at as number) - now);
  return (
    <p class={`wb-expiry${soon ? " wb-ink-amber" : " wb-dim"}`}>
      <Drawing name="hourglass" />
      <b>Expires in {elapsed(left)}</b>
      <span class="wb-meter" aria-hidden="true">
        <i style={{ width: `${whole > 0 ? Math.min(100, (left / whole) * 100) : 0}%` }} />
      </span>
      <span class="wb-dim">Then {approval.agent} is told: no decision in time.</span>
    </p>
  );
}

interface AnswersProps {
  mode: Mode;
  approval: Approval;
  live: boolean;
  commands: Commands;
  settled(): boolean;
  decide(action: Action, extra?: { [key: string]: Json }): Promise<void>;
  open(mode: Mode): Promise<void>;
  back(): void;
}

const RARE = new Set(["answer", "always", "dismiss"]);
const CAPS: Record<string, string> = { approve: "A", edit: "E", reject: "R" };

const SCOPES: readonly (readonly [string, string])[] = [
  ["notebook", "in this notebook"],
  ["run", "in this run"],
  ["session", "until this kernel ends"],
];

/** The rule that "always" would write, shown before it writes it. */
function Always({ action, approval, live, commands, settled, decide, back }: AnswersProps & { action: Action }): JSX.Element {
  const [scope, setScope] = useState("notebook");
  const choice = useRef<HTMLSelectElement>(null);
  useEffect(() => choice.current?.focus(), []);
  const name = `${approval.id}-scope`;
  return (
    <div class="wb-always">
      <label for={name}>
        <b>This rule is written:</b> approve <span class="wb-code">{visible(approval.tool)}</span> from {approval.agent},
      </label>
      <select id={name} ref={choice} class="wb-input wb-input-choice" value={scope} onChange={(event) => setScope(event.currentTarget.value)}>
        {SCOPES.map(([value, words]) => (
          <option key={value} value={value}>
            {words}
          </option>
        ))}
      </select>
      <span class="wb-dim">It approves what waits of it too. It is listed under Rules, where you can revoke it.</span>
      <div class="wb-actions">
        <ActionButton action={{ ...action, label: "Approve always" }} commands={commands} live={live} onPress={() => settled() && void decide(action, { scope })} />
        <Button label="Back" cap="Esc" onPress={back} />
      </div>
    </div>
  );
}

function Answers(props: AnswersProps): JSX.Element {
  const { mode, approval, live, commands } = props;
  const find = (command: string): Action | undefined => approval.actions.find((action) => action.command === command);
  const reject = find("reject");
  const answer = find("answer");
  if (mode === "reject" && reject !== undefined) {
    return (
      <Said label="Reason, shown to the model (optional)" back={props.back} live={live} onSay={(reason) => void props.decide(reject, { reason })}>
        {(say) => <ActionButton action={{ ...reject, label: "Reject" }} commands={commands} live={live} look="danger" onPress={say} />}
      </Said>
    );
  }
  const always = find("always");
  if (mode === "always" && always !== undefined) return <Always {...props} action={always} />;
  if (approval.asks === "input_required" && answer !== undefined) {
    return (
      <AnswerForm approval={approval} commands={commands} live={live} ready={props.settled} onAnswer={(value) => void props.decide(answer, { value })}>
        {approval.actions.filter((action) => action.command !== "answer").map((action) => (
          <ActionButton key={action.command} action={action} commands={commands} live={live} onPress={() => void (action.command === "reject" ? props.open("reject") : props.decide(action))} {...(RARE.has(action.command) ? { look: "link" as const } : {})} />
        ))}
      </AnswerForm>
    );
  }
  if (mode === "answer" && answer !== undefined) {
    return (
      <Said label={`What ${approval.tool} would have returned`} back={props.back} live={live} onSay={(value) => void props.decide(answer, { value })}>
        {(say) => <ActionButton action={{ ...answer, label: "Answer" }} commands={commands} live={live} onPress={say} />}
      </Said>
    );
  }
  const press = (action: Action): void => {
    if (["edit", "reject", "answer", "always"].includes(action.command)) void props.open(action.command as Mode);
    else if (action.command !== "approve" || props.settled()) void props.decide(action);
  };
  const button = (action: Action, rare: boolean): JSX.Element => (
    <ActionButton
      key={action.command}
      action={action}
      commands={commands}
      live={live && commands.busy === null ? true : live && commands.busy === action.command}
      onPress={() => press(action)}
      {...(rare ? { look: "link" as const } : {})}
      {...(CAPS[action.command] === undefined ? {} : { cap: CAPS[action.command] as string })}
    />
  );
  const rare = approval.actions.filter((action) => RARE.has(action.command));
  return (
    <div class="wb-actions">
      {approval.actions.filter((action) => !RARE.has(action.command)).map((action) => button(action, false))}
      {rare.length > 0 && <span class="wb-far">{rare.map((action) => button(action, true))}</span>}
    </div>
  );
}

/** A field in the button row, with the focus in it; Enter sends what it holds. */
function Said(props: { label: string; live: boolean; back(): void; onSay(text: string): void; children(say: () => void): ComponentChildren }): JSX.Element {
  const [text, setText] = useState("");
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const say = (): void => props.onSay(text);
  return (
    <div class="wb-actions wb-actions-said">
      <input
        ref={field}
        class="wb-input wb-input-said"
        type="text"
        placeholder={props.label}
        aria-label={props.label}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => event.key === "Enter" && !event.isComposing && props.live && say()}
      />
      {props.children(say)}
      <Button label="Back" cap="Esc" onPress={props.back} />
    </div>
  );
}

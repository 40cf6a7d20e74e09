// Buttons: what may be pressed, what a press has become, and why it was refused.
//
// - A pressed button keeps its width and says the word in progress; a second press does nothing.
// - A refusal stands beside the buttons until the next press.
// - While the kernel is busy, it is said that the press was sent.

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Connection, Outcome } from "../model";
import type { Action, Json } from "../types";
import { Drawing, Shape } from "./shapes";
import { visible } from "./words";

export type Look = "plain" | "primary" | "violet" | "danger" | "quiet" | "link";

const PROGRESS: Record<string, string> = {
  approve: "Approving",
  edit: "Approving",
  reject: "Rejecting",
  answer: "Answering",
  dismiss: "Dismissing",
  always: "Approving",
  approve_all: "Approving",
  reject_all: "Rejecting",
  revoke: "Revoking",
  kill: "Killing",
  recover: "Recovering",
  extend: "Extending",
  cancel: "Cancelling",
};

const NOT_DONE: Record<string, string> = {
  approve: "Not approved",
  edit: "Not approved",
  reject: "Not rejected",
  answer: "Not answered",
  dismiss: "Not dismissed",
  always: "Not approved",
  approve_all: "Not approved",
  reject_all: "Not rejected",
  revoke: "Not revoked",
  kill: "Not killed",
  recover: "Not recovered",
  extend: "Not extended",
  cancel: "Not cancelled",
};

const PATIENCE = 1500;

/** The commands of one group of buttons: at most one on its way, and what became of the last. */
export interface Commands {
  busy: string | null;
  slow: boolean;
  refusal: string | null;
  send(action: Action, extra?: { [key: string]: Json }): Promise<Outcome | null>;
}

export function useCommands<View>(connection: Connection<View>): Commands {
  const [busy, setBusy] = useState<string | null>(null);
  const [slow, setSlow] = useState(false);
  const [refusal, setRefusal] = useState<string | null>(null);
  const sending = useRef(false);
  const gone = useRef(false);
  useEffect(() => () => void (gone.current = true), []);
  return {
    busy,
    slow,
    refusal,
    async send(action, extra = {}) {
      if (sending.current) return null;
      sending.current = true;
      setBusy(action.command);
      setRefusal(null);
      const patience = setTimeout(() => setSlow(true), PATIENCE);
      const outcome = await connection.command(action.command, { ...action.args, ...extra });
      clearTimeout(patience);
      sending.current = false;
      if (!gone.current) {
        setSlow(false);
        setBusy(null);
        if ("error" in outcome) setRefusal(`${NOT_DONE[action.command] ?? `${action.label} was refused`}: ${outcome.error}`);
      }
      return outcome;
    },
  };
}

export interface ButtonProps {
  look?: Look;
  label: ComponentChildren;
  cap?: string;
  small?: boolean;
  disabled?: boolean;
  /** The word in progress, while it is. */
  doing?: string | null;
  pressed?: boolean;
  onPress(): void;
  name?: string;
  title?: string;
}

export function Button(props: ButtonProps): JSX.Element {
  const { look = "plain", doing = null } = props;
  const element = useRef<HTMLButtonElement>(null);
  const width = useRef<number | null>(null);
  if (doing === null) width.current = null;
  else if (width.current === null) width.current = element.current?.getBoundingClientRect().width ?? null;
  return (
    <button
      ref={element}
      type="button"
      class={`wb-button wb-button-${look}${props.small ? " wb-button-small" : ""}${doing !== null ? " wb-button-busy" : ""}`}
      style={width.current === null ? undefined : { minWidth: `${width.current}px` }}
      disabled={props.disabled === true && doing === null}
      aria-disabled={doing !== null ? "true" : undefined}
      aria-pressed={props.pressed}
      data-wb-name={props.name}
      title={props.title}
      onClick={() => doing === null && props.disabled !== true && props.onPress()}
    >
      {doing !== null ? <Shape status="running" /> : null}
      <span>{doing ?? props.label}</span>
      {props.cap !== undefined && doing === null ? <kbd class="wb-cap" aria-hidden="true">{props.cap}</kbd> : null}
    </button>
  );
}

/** An action of the view as a button; grey while the kernel cannot take it. */
export function ActionButton(props: {
  action: Action;
  commands: Commands;
  live: boolean;
  look?: Look;
  small?: boolean;
  cap?: string;
  onPress?: () => void;
}): JSX.Element {
  const { action, commands, live } = props;
  return (
    <Button
      look={props.look ?? lookOf(action)}
      label={action.label}
      name={action.command}
      disabled={!live || !action.enabled}
      doing={commands.busy === action.command ? (PROGRESS[action.command] ?? action.label.replace(/…$/, "")) : null}
      onPress={props.onPress ?? (() => void commands.send(action))}
      {...(props.small === undefined ? {} : { small: props.small })}
      {...(props.cap === undefined ? {} : { cap: props.cap })}
    />
  );
}

function lookOf(action: Action): Look {
  if (action.command === "kill" || action.command === "reject" || action.command === "discard") return "danger";
  return action.command === "recover" ? "violet" : action.command === "approve" ? "primary" : "plain";
}

/** What became of the last press: refused, or sent to a kernel that is busy. */
export function Outcomes({ commands }: { commands: Commands }): JSX.Element | null {
  if (commands.refusal !== null) {
    return (
      <p class="wb-refusal" role="alert">
        <Drawing name="octagon" ink="red" />
        <span>{visible(commands.refusal)}</span>
      </p>
    );
  }
  return commands.slow ? <p class="wb-sent">Sent. Acts when the cell gives way.</p> : null;
}

// The edit form: the arguments of a request as typed fields or as JSON, two views of one value.

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Approval, Json } from "../types";
import { Button, type Commands } from "./buttons";
import { type Field, fieldsOf, hasDots, inField, masked, parsed, problemOf, restored, typed } from "./schema";
import { Drawing } from "./shapes";
import { DOTS, json, oneLine, plural, visible } from "./words";

type Args = { [key: string]: Json };

interface FormProps {
  approval: Approval;
  args: Args;
  commands: Commands;
  live: boolean;
  ready(): boolean;
  onApprove(args: Args): void;
  onBack(): void;
}

export function EditForm({ approval, args, commands, live, ready, onApprove, onBack }: FormProps): JSX.Element {
  const fields = fieldsOf(approval.schema, args);
  const shown = masked(args, approval.schema, approval.secret);
  const textsOf = (from: Args): Record<string, string> => Object.fromEntries(fields.map((field) => [field.name, inField(field, from[field.name])]));
  const [texts, setTexts] = useState<Record<string, string>>(() => textsOf(shown));
  const [raw, setRaw] = useState<string | null>(null);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => box.current?.querySelector<HTMLElement>("input, select, textarea")?.focus(), []);

  const read = fields.map((field) => readField(field, texts[field.name] ?? "", args, shown));
  const fromForm = Object.fromEntries(read.flatMap(({ field, value }) => (value === undefined ? [] : [[field.name, value]])));
  const said = raw === null ? null : parsed(raw);
  const fromJson = said === null ? null : { value: restored(said.value, args, shown) };
  const jsonProblem = raw === null ? null : objectProblem(fromJson, fields, args);
  const problems = raw === null ? read.filter((one) => one.problem !== null).length : jsonProblem === null ? 0 : 1;
  const value = raw === null ? fromForm : ((fromJson?.value ?? {}) as Args);
  const changed = json(value) !== json(args);

  const toForm = (): void => {
    if (raw === null || jsonProblem !== null) return;
    setTexts(textsOf((said?.value ?? {}) as Args));
    setRaw(null);
  };
  return (
    <div class="wb-form" ref={box} role="group" aria-label={`Edit the arguments of ${approval.tool}`}>
      <div class="wb-form-head">
        <p>
          <b>Edit the arguments.</b> <span class="wb-dim">The model is told what you changed.</span>
        </p>
        <span class="wb-segments" role="group" aria-label="How to edit">
          <Button small look="quiet" label="Form" pressed={raw === null} disabled={jsonProblem !== null} onPress={toForm} />
          <Button small look="quiet" label="JSON" pressed={raw !== null} disabled={raw === null && problems > 0} onPress={() => raw === null && setRaw(json(dotted(read, texts, shown), 2))} />
        </span>
      </div>
      {raw === null ? (
        read.map((one) => (
          <FieldRow
            key={one.field.name}
            id={`${approval.id}-${one.field.name}`}
            read={one}
            text={texts[one.field.name] ?? ""}
            before={shown[one.field.name]}
            onInput={(text) => setTexts((held) => ({ ...held, [one.field.name]: text }))}
          />
        ))
      ) : (
        <JsonEditor text={raw} problem={jsonProblem} onInput={setRaw} />
      )}
      <div class="wb-actions">
        <Button
          look="primary"
          label="Approve with changes"
          disabled={!live || problems > 0 || !changed}
          doing={commands.busy === "edit" ? "Approving" : null}
          onPress={() => ready() && onApprove(value)}
        />
        <Button label="Discard changes" cap="Esc" onPress={onBack} />
        <span class="wb-far" aria-live="polite">
          {problems > 0 ? <span class="wb-ink-red">{plural(problems, "field")} to fix</span> : changed ? "" : <span class="wb-dim">nothing changed yet</span>}
        </span>
      </div>
    </div>
  );
}

interface AnswerProps {
  approval: Approval;
  commands: Commands;
  live: boolean;
  ready(): boolean;
  onAnswer(value: Json): void;
  children?: ComponentChildren;
}

const WHOLE = "value";

/** The value that is asked for, as typed fields by its schema; one that is no object has a single field. */
export function AnswerForm({ approval, commands, live, ready, onAnswer, children }: AnswerProps): JSX.Element {
  const { schema } = approval;
  const inside = schema.type === "object" && schema.properties !== undefined;
  const fields = fieldsOf(inside ? schema : { type: "object", properties: { [WHOLE]: schema }, required: [WHOLE], ...(schema.$defs === undefined ? {} : { $defs: schema.$defs }) }, {});
  const [texts, setTexts] = useState<Record<string, string>>(() => Object.fromEntries(fields.map((field) => [field.name, inField(field, field.schema.default)])));
  const [tried, setTried] = useState(false);
  const read = fields.map((field) => readField(field, texts[field.name] ?? "", {}, {}));
  const problems = read.filter((one) => one.problem !== null).length;
  const values = Object.fromEntries(read.flatMap(({ field, value }) => (value === undefined ? [] : [[field.name, value]])));
  const answer = (): void => {
    if (problems > 0) setTried(true);
    else if (ready()) onAnswer(inside ? values : (values[WHOLE] ?? null));
  };
  return (
    <div class="wb-form" role="group" aria-label={`Answer ${approval.tool}`}>
      {read.map((one) => (
        <FieldRow
          key={one.field.name}
          id={`${approval.id}-${one.field.name}`}
          read={tried || (texts[one.field.name] ?? "") !== "" ? one : { ...one, problem: null }}
          text={texts[one.field.name] ?? ""}
          onInput={(text) => setTexts((held) => ({ ...held, [one.field.name]: text }))}
        />
      ))}
      <div class="wb-actions">
        <Button look="primary" label="Answer" name="answer" disabled={!live || (tried && problems > 0)} doing={commands.busy === "answer" ? "Answering" : null} onPress={answer} />
        {children}
        <span class="wb-far" aria-live="polite">
          {tried && problems > 0 ? <span class="wb-ink-red">{plural(problems, "field")} to fix</span> : ""}
        </span>
      </div>
    </div>
  );
}

interface Read {
  field: Field;
  value: Json | undefined;
  problem: string | null;
}

/** What a field holds, where dots stand for the secrets that were in it. */
function readField(field: Field, text: string, args: Args, shown: Args): Read {
  const [before, seen] = [args[field.name], shown[field.name]];
  if (text === inField(field, seen)) return { field, value: before, problem: problemOf(field, before) };
  if (seen === DOTS && text.includes(DOTS)) return { field, value: undefined, problem: MOVED };
  if (field.input === "choice") {
    const value = field.choices.find((choice) => inField(field, choice) === text);
    return { field, value, problem: problemOf(field, value) };
  }
  if (field.input === "switch" && text !== "") return { field, value: text === "true", problem: null };
  const result = typed(field, text);
  if (result === null) return { field, value: undefined, problem: field.input === "number" ? problemOf(field, null) : "Is no JSON" };
  const value = result.value === undefined ? undefined : restored(result.value, before, seen);
  return { field, value, problem: moved(value, before) ?? problemOf(field, value) };
}

const MOVED = "Dots stand for what was there; write the whole secret anew";

function moved(value: Json | undefined, before: Json | undefined): string | null {
  return hasDots(value) && !hasDots(before) ? MOVED : null;
}

/** What the fields hold, for people: with dots where a secret is what it was. */
function dotted(read: Read[], texts: Record<string, string>, shown: Args): Args {
  const held = read.flatMap(({ field, value }) => {
    const text = texts[field.name] ?? "";
    const seen = text === inField(field, shown[field.name]) ? shown[field.name] : field.input === "json" ? parsed(text)?.value : value;
    return value === undefined || seen === undefined ? [] : [[field.name, seen] as const];
  });
  return Object.fromEntries(held);
}

function objectProblem(result: { value: Json } | null, fields: Field[], args: Args): string | null {
  if (result === null) return "Is no JSON";
  const { value } = result;
  if (value === null || typeof value !== "object" || Array.isArray(value)) return "Must be an object";
  if (moved(value, args) !== null) return MOVED;
  for (const field of fields) {
    const problem = problemOf(field, value[field.name]);
    if (problem !== null) return `${field.name}: ${problem}`;
  }
  return null;
}

/** One field; with `before`, what it was is said beside it. */
function FieldRow(props: { id: string; read: Read; text: string; before?: Json | undefined; onInput(text: string): void }): JSX.Element {
  const { id, read, text, before } = props;
  const { field, problem } = read;
  const edits = "before" in props;
  const same = text === inField(field, before);
  const common = {
    id,
    class: `wb-input wb-input-${field.input}${problem !== null ? " wb-input-wrong" : ""}`,
    "aria-invalid": problem !== null ? ("true" as const) : undefined,
    "aria-describedby": `${id}-rule ${id}-problem`,
  };
  const input = (event: { currentTarget: { value: string } }): void => props.onInput(event.currentTarget.value);
  return (
    <div class="wb-field">
      <label class="wb-field-name" for={id}>
        {edits || field.name !== WHOLE ? field.name : "Your answer"}
        <span class="wb-field-rule" id={`${id}-rule`}>
          {field.rule}
        </span>
      </label>
      <div class="wb-field-input">
        {(field.input === "lines" && !field.secret) || field.input === "json" ? (
          <textarea {...common} rows={field.input === "json" ? 4 : 2} value={text} onInput={input} spellcheck={false} />
        ) : field.secret ? (
          <input {...common} type="password" value={text} onInput={input} autocomplete="off" />
        ) : field.input === "choice" || field.input === "switch" ? (
          <select {...common} value={text} onChange={input}>
            {((field.optional || field.nullable || before === undefined) && field.input === "choice") || text === "" ? <option value="">nothing</option> : null}
            {(field.input === "switch" ? [true, false] : field.choices).map((choice) => (
              <option key={json(choice)} value={inField(field, choice)}>
                {field.input === "switch" ? (choice === true ? "yes" : "no") : inField(field, choice)}
              </option>
            ))}
          </select>
        ) : (
          <input {...common} type="text" inputMode={field.input === "number" ? "decimal" : "text"} value={text} onInput={input} autocomplete="off" spellcheck={false} />
        )}
        <p class="wb-problem" id={`${id}-problem`}>
          {problem !== null ? (
            <>
              <Drawing name="octagon" ink="red" />
              <span>{problem}</span>
            </>
          ) : null}
        </p>
      </div>
      <div class="wb-field-change">
        {!edits ? null : same ? (
          <span class="wb-dim">as asked</span>
        ) : (
          <span class="wb-ink-blue">
            <Drawing name="triangle" /> changed, was <span class="wb-code">{before === undefined ? "not given" : field.secret ? "secret" : typeof before === "string" ? visible(before).slice(0, 40) : oneLine(before, 40)}</span>
          </span>
        )}
      </div>
    </div>
  );
}

function JsonEditor({ text, problem, onInput }: { text: string; problem: string | null; onInput(text: string): void }): JSX.Element {
  return (
    <div class="wb-json">
      <textarea
        class={`wb-input wb-input-json${problem !== null ? " wb-input-wrong" : ""}`}
        aria-label="Arguments as JSON"
        aria-invalid={problem !== null ? "true" : undefined}
        rows={Math.min(16, Math.max(5, text.split("\n").length))}
        value={text}
        spellcheck={false}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      <p class="wb-problem" aria-live="polite">
        {problem !== null ? (
          <>
            <Drawing name="octagon" ink="red" />
            <span>{problem}</span>
          </>
        ) : null}
      </p>
    </div>
  );
}

// Values: arguments, results, state. Always text, whatever they hold; long ones folded with their size and a way to see all.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Connection } from "../model";
import type { Json } from "../types";
import { Button } from "./buttons";
import { count, DOTS, isCut, json, size, visible } from "./words";

const LINES = 20;
const LONG = 2000;
const HEAD = 20_000;

interface ValueProps {
  value: Json;
  /** Where the value is in the view, to ask for the rest of a long one. */
  path: string;
  connection: Connection<unknown>;
  secret?: boolean;
}

/** A value as code. */
export function Value({ value, path, connection, secret = false }: ValueProps): JSX.Element {
  const [all, setAll] = useState(false);
  if (secret) {
    return (
      <span class="wb-code">
        {DOTS} <span class="wb-dim">secret</span>
      </span>
    );
  }
  const short = json(value);
  const text = short.length > 100 && value !== null && typeof value === "object" ? json(value, 2) : short;
  const { length, bytes } = measure(value, text);
  if (bytes > HEAD) return <Huge value={value} text={text} bytes={bytes} path={path} connection={connection} />;
  const lines = text.split("\n");
  if (lines.length <= LINES && length <= LONG) return <span class="wb-code wb-wrap">{visible(text)}</span>;
  return (
    <span>
      <span class="wb-code wb-wrap">{visible(all ? text : beginning(text))}</span>{" "}
      <span class="wb-dim">{lines.length > LINES ? `${count(lines.length)} lines` : `${count(length)} characters`}</span>{" "}
      <Button look="link" small label={all ? "Show less" : "Show all"} onPress={() => setAll(!all)} />
    </span>
  );
}

function Huge(props: { value: Json; text: string; bytes: number; path: string; connection: Connection<unknown> }): JSX.Element {
  const [shown, setShown] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const save = async (): Promise<void> => {
    try {
      download(await whole(props.value, props.path, props.connection));
    } catch (error) {
      setProblem(String(error instanceof Error ? error.message : error));
    }
  };
  return (
    <span>
      <span class="wb-code wb-wrap">{visible(shown ? props.text.slice(0, HEAD) : beginning(props.text))}</span>{" "}
      <span class="wb-dim">{size(props.bytes)} of text</span>
      <span class="wb-more">
        <Button look="link" small label={shown ? "Show less" : "Show the first 20 kB"} onPress={() => setShown(!shown)} />
        <Button look="link" small label="Save as file" onPress={() => void save()} />
      </span>
      {problem !== null && <span class="wb-ink-red">Not saved: {problem}</span>}
    </span>
  );
}

/** The value as text, with what was cut off asked for. */
export async function whole(value: Json, path: string, connection: Connection<unknown>): Promise<string> {
  if (!isCut(value)) return typeof value === "string" ? value : json(value, 2);
  let text = "";
  let points = 0;
  for (;;) {
    const outcome = await connection.command("read", { path, start: points });
    if ("error" in outcome) throw new Error(outcome.error);
    const part = outcome.ok as { text: string; length: number };
    text += part.text;
    points += Array.from(part.text).length;
    if (points >= part.length || part.text === "") return text;
  }
}

function measure(value: Json, text: string): { length: number; bytes: number } {
  if (isCut(value)) return { length: value.length, bytes: value.bytes };
  return { length: text.length, bytes: text.length > HEAD / 4 ? new TextEncoder().encode(text).length : text.length };
}

function beginning(text: string): string {
  const lines = text.split("\n").slice(0, 3).join("\n");
  return `${lines.length > 160 ? lines.slice(0, 160) : lines} …`;
}

function download(text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain;charset=utf-8" }));
  link.download = "value.txt";
  link.click();
  URL.revokeObjectURL(link.href);
}

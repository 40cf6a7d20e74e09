// Words for numbers, times and values; the twin of workbench/widgets/words.py, with local clock times.

import type { Json, Usage } from "../types";

/** How long something took: 41 ms, 1.9 s, 1:12. Nothing for null. */
export function took(seconds: number | null): string {
  if (seconds === null) return "";
  if (seconds < 0.9995) return `${Math.max(0, Math.round(seconds * 1000))} ms`;
  return seconds < 59.95 ? `${seconds.toFixed(1)} s` : elapsed(seconds);
}

/** A duration as a clock shows it: 0:41, 1:12:05. */
export function elapsed(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds + 1e-6));
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor(whole / 60) % 60;
  const rest = String(whole % 60).padStart(2, "0");
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
}

/** The local time of day of an instant, with the date when it is not today. */
export function clock(instant: number, today: number = Date.now() / 1000): string {
  const at = new Date(instant * 1000);
  const time = [at.getHours(), at.getMinutes(), at.getSeconds()].map((part) => String(part).padStart(2, "0")).join(":");
  const same = at.toDateString() === new Date(today * 1000).toDateString();
  return same ? time : `${at.getDate()} ${MONTHS[at.getMonth()]} ${at.getFullYear()}, ${time}`;
}

/** An instant in UTC, for titles. */
export function utc(instant: number): string {
  return `${new Date(instant * 1000).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

export function count(number: number): string {
  return number.toLocaleString("en-US");
}

export function plural(number: number, one: string, many: string = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : many}`;
}

export function cost(microdollars: number | null): string {
  if (microdollars === null) return "no price";
  const dollars = microdollars / 1_000_000;
  return dollars < 1 ? `$${dollars.toFixed(3)}` : `$${dollars.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
}

/** Tokens in and out; "not reported" where no turn came with a figure, the least where some did not. */
export function tokens(usage: Usage): string {
  if (usage.unreported > 0 && usage.input_tokens === null) return "not reported";
  return `${usage.unreported > 0 ? "at least " : ""}${count(usage.input_tokens ?? 0)} in, ${count(usage.output_tokens ?? 0)} out`;
}

/** The cost of all turns; the least that it can be where some have no price. */
export function spent(usage: Usage): string {
  return (usage.cost_microdollars !== null && usage.unpriced > 0 ? "at least " : "") + cost(usage.cost_microdollars);
}

/** A size: 812 bytes, 1.2 kB, 5.0 MB. */
export function size(bytes: number): string {
  if (bytes < 1000) return plural(bytes, "byte");
  return bytes < 999_950 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

export function capital(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}

/** A text with its control and direction characters as marks, so that nothing hides in it. Line ends and tabs stay. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (character) => {
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    return code === 0x7f ? "\u2421" : `\u27e8U+${code.toString(16).toUpperCase().padStart(4, "0")}\u27e9`;
  });
}

const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** A text that was too long to send whole: its beginning and its size. */
export interface Cut {
  $cut: string;
  length: number;
  bytes: number;
}

export function isCut(value: Json): value is Json & Cut {
  return value !== null && typeof value === "object" && !Array.isArray(value) && typeof value.$cut === "string";
}

/** A value as JSON text, in one line or indented, with marked values as they are: 12345678901234567890, nan. */
export function json(value: Json, indent: number = 0): string {
  return write(value, indent, "");
}

function write(value: Json, indent: number, margin: string): string {
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const inner = margin + " ".repeat(indent);
  const join = (open: string, parts: string[], close: string): string => {
    if (parts.length === 0) return open + close;
    return indent > 0 ? `${open}\n${inner}${parts.join(`,\n${inner}`)}\n${margin}${close}` : `${open}${parts.join(", ")}${close}`;
  };
  if (Array.isArray(value)) return join("[", value.map((item) => write(item, indent, inner)), "]");
  if (typeof value.$int === "string") return value.$int;
  if (typeof value.$float === "string") return value.$float;
  if (isCut(value)) return `${JSON.stringify(value.$cut).slice(0, -1)} …" (${count(value.length)} characters)`;
  const record = value.$map !== undefined && typeof value.$map === "object" ? (value.$map as { [key: string]: Json }) : value;
  return join("{", Object.keys(record).map((key) => `${JSON.stringify(key)}: ${write(record[key] as Json, indent, inner)}`), "}");
}

/** What stands for a secret. */
export const DOTS = "••••••";

/** Arguments in one line: order_id "A-1002", reason "ordered twice". */
export function argumentsLine(args: { [key: string]: Json }): string {
  return Object.keys(args)
    .map((name) => `${visible(name)} ${args[name] === DOTS ? DOTS : oneLine(args[name] as Json)}`)
    .join(", ");
}

/** A value in one line of at most `width` characters; the row that shows it cuts it at its own end. */
export function oneLine(value: Json, width = 200): string {
  const text = visible(json(value));
  return text.length <= width ? text : `${text.slice(0, width - 1)}…`;
}

/** An id cut in front: …#email#0. */
export function tail(id: string, parts = 2): string {
  const pieces = id.split("#");
  return pieces.length <= parts + 1 ? id : `…#${pieces.slice(-parts).join("#")}`;
}

/** A name as a part of a JSON pointer. */
export function pointer(name: string): string {
  return `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

// Patches: the operations that turn one plain value into another, as `workbench/patch.py` makes them.
// A patch is pure: containers on touched paths are copied once, everything else is shared, so a row that did not
// change is the same object. Positions in a text count characters (code points), not code units.

import type { Json } from "./types";

export type Op = ["set", string, Json] | ["del", string] | ["splice", string, number, number, Json];

/** `value` with the operations done, in order. Throws when one does not fit. */
export function apply(value: Json, ops: readonly Op[]): Json {
  const owned = new Set<object>();
  return ops.reduce<Json>((current, op) => applyOne(current, op, owned), value);
}

type Container = Json[] | { [key: string]: Json };

function own<T extends Container>(container: T, owned: Set<object>): T {
  if (owned.has(container)) return container;
  const copy = (Array.isArray(container) ? [...container] : copyOf(container)) as T;
  owned.add(copy);
  return copy;
}

function copyOf(record: { [key: string]: Json }): { [key: string]: Json } {
  const copy: { [key: string]: Json } = {};
  for (const key of Object.keys(record)) put(copy, key, record[key] as Json);
  return copy;
}

/** Sets a key as data, also one such as "__proto__" that an assignment would take for something else. */
function put(record: { [key: string]: Json }, key: string, value: Json): void {
  Object.defineProperty(record, key, { value, writable: true, enumerable: true, configurable: true });
}

const LENGTHS: { [kind: string]: number } = { set: 3, del: 2, splice: 5 };

function mustBeOne(op: unknown): void {
  if (!Array.isArray(op) || typeof op[0] !== "string" || typeof op[1] !== "string") {
    throw new Error(`${JSON.stringify(op)} is no operation`);
  }
  if (!Object.hasOwn(LENGTHS, op[0]) || LENGTHS[op[0]] !== op.length) throw new Error(`${op[0]} at ${op[1]} is no operation`);
  if (op[0] === "splice" && !(Number.isInteger(op[2]) && Number.isInteger(op[3]))) {
    throw new Error(`a splice at ${op[1]} is given in whole numbers`);
  }
}

function applyOne(value: Json, op: Op, owned: Set<object>): Json {
  mustBeOne(op);
  const [kind, path] = op;
  const parts = split(path);
  if (parts.length === 0) {
    if (kind === "set") return op[2];
    if (kind === "splice") return splice(value, op, owned);
    throw new Error(`the root cannot be changed by ${kind}`);
  }
  const root = own(container(value, path), owned);
  let parent: Container = root;
  for (const part of parts.slice(0, -1)) {
    const inner = own(container(read(parent, part, path), path), owned);
    write(parent, part, inner);
    parent = inner;
  }
  finish(parent, parts[parts.length - 1] as string, op, owned);
  return root;
}

function finish(parent: Container, last: string, op: Op, owned: Set<object>): void {
  const path = op[1];
  if (op[0] === "set") {
    if (Array.isArray(parent)) read(parent, last, path);
    write(parent, last, op[2]);
  } else if (op[0] === "del") {
    read(parent, last, path);
    if (Array.isArray(parent)) parent.splice(Number(last), 1);
    else delete parent[last];
  } else {
    write(parent, last, splice(read(parent, last, path), op, owned));
  }
}

function splice(value: Json, op: Op & ["splice", string, number, number, Json], owned: Set<object>): Json {
  const [, path, start, remove, insert] = op;
  if (typeof value === "string" && typeof insert === "string") return spliceText(value, start, remove, insert, path);
  if (!Array.isArray(value) || !Array.isArray(insert)) throw new Error(`a splice does not fit what is at ${path}`);
  if (!inside(start, remove, value.length)) throw new Error(`a splice passes the end of ${path}`);
  const spliced = own(value, owned);
  spliced.splice(start, remove, ...insert);
  return spliced;
}

function spliceText(text: string, start: number, remove: number, insert: string, path: string): string {
  if (/[\ud800-\udfff]/.test(text)) {
    const characters = Array.from(text);
    if (!inside(start, remove, characters.length)) throw new Error(`a splice passes the end of ${path}`);
    return characters.slice(0, start).join("") + insert + characters.slice(start + remove).join("");
  }
  if (!inside(start, remove, text.length)) throw new Error(`a splice passes the end of ${path}`);
  return text.slice(0, start) + insert + text.slice(start + remove);
}

function inside(start: number, remove: number, length: number): boolean {
  return start >= 0 && remove >= 0 && start + remove <= length;
}

function split(path: string): string[] {
  if (path === "") return [];
  if (!path.startsWith("/") || /~(?![01])/.test(path)) throw new Error(`${path} is no path`);
  return path
    .slice(1)
    .split("/")
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function container(value: Json, path: string): Container {
  if (value === null || typeof value !== "object") throw new Error(`${path} leads through a ${typeof value}`);
  return value;
}

function read(parent: Container, part: string, path: string): Json {
  if (Array.isArray(parent)) {
    if (/^(0|[1-9]\d*)$/.test(part) && Number(part) < parent.length) return parent[Number(part)] as Json;
  } else if (Object.hasOwn(parent, part)) {
    return parent[part] as Json;
  }
  throw new Error(`${path} leads to nothing`);
}

function write(parent: Container, part: string, value: Json): void {
  if (Array.isArray(parent)) parent[Number(part)] = value;
  else put(parent, part, value);
}

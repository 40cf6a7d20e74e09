// What a JSON schema says about one argument: which input it gets, its rule in words, and whether a value keeps it.
// Only what is sure is checked here; the kernel validates again and its words are shown beside the buttons.

import type { Json } from "../types";
import { count, DOTS, json } from "./words";

type Schema = { [key: string]: Json };

export type Input = "text" | "lines" | "number" | "choice" | "switch" | "date" | "json";

export interface Field {
  name: string;
  input: Input;
  whole: boolean;
  optional: boolean;
  nullable: boolean;
  secret: boolean;
  choices: Json[];
  rule: string;
  schema: Schema;
}

/** The fields of an arguments schema, in its order, then arguments that it does not name. */
export function fieldsOf(schema: Schema, args: { [key: string]: Json }): Field[] {
  const properties = record(schema.properties) ?? {};
  const required = Array.isArray(schema.required) ? schema.required : [];
  const names = [...Object.keys(properties), ...Object.keys(args).filter((name) => !Object.hasOwn(properties, name))];
  return names.map((name) => fieldOf(name, record(properties[name]) ?? {}, schema, !required.includes(name)));
}

/** Whether the schema marks an argument as secret, be it in one of its alternatives. */
export function isSecret(schema: Schema, name: string): boolean {
  return isMarked(record((record(schema.properties) ?? {})[name]) ?? {}, schema);
}

function isMarked(given: Schema, root: Schema, isOne: boolean = true): boolean {
  const own = resolve(given, root);
  if (own.writeOnly === true || own.format === "password") return true;
  const others = [own.anyOf, own.oneOf, own.allOf].flatMap((each) => (Array.isArray(each) ? each : []));
  return isOne && others.some((each) => isMarked(record(each) ?? {}, root, false));
}

/** The arguments with dots for whatever is secret: at the places that are told, or marked by the schema. */
export function masked(args: { [key: string]: Json }, schema: Schema | undefined, places: readonly string[] = []): { [key: string]: Json } {
  const marked = schema === undefined ? [] : Object.keys(args).filter((name) => isSecret(schema, name));
  return [...marked.map((name) => [name]), ...places.map(steps)].reduce<Json>(withDots, args) as { [key: string]: Json };
}

/**
 * What was edited with dots for the secrets of `before`, which stand in it again where they are told by name. Inside a list an
 * item is told by nothing but its place, so only one that nobody touched has its secrets back.
 */
export function restored(edited: Json, before: Json | undefined, shown: Json | undefined): Json {
  if (shown === DOTS) return edited === DOTS ? (before as Json) : edited;
  if (Array.isArray(edited) && Array.isArray(before) && Array.isArray(shown)) {
    const stays = (item: Json, at: number): boolean => edited.length === shown.length && json(item) === json(shown[at] as Json);
    return edited.map((item, at) => (stays(item, at) ? (before[at] as Json) : item));
  }
  const [inside, old, seen] = [named(edited), named(before), named(shown)];
  if (inside === null || old === null || seen === null) return edited;
  return Object.fromEntries(Object.entries(inside).map(([name, item]) => [name, Object.hasOwn(seen, name) ? restored(item, old[name], seen[name]) : item]));
}

function named(value: Json | undefined): Schema | null {
  return record(record(value)?.$map) ?? record(value);
}

/** Whether dots stand in a value where no secret was before. */
export function hasDots(value: Json | undefined): boolean {
  if (value === DOTS) return true;
  if (Array.isArray(value)) return value.some(hasDots);
  return Object.values(record(value) ?? {}).some(hasDots);
}

/** The steps to a place; one that is no pointer is the name of an argument. */
function steps(place: string): string[] {
  if (!place.startsWith("/")) return [place];
  return place.slice(1).split("/").map((step) => step.replace(/~1/g, "/").replace(/~0/g, "~"));
}

function withDots(value: Json, [first, ...rest]: string[]): Json {
  if (first === undefined) return DOTS;
  if (Array.isArray(value)) return value.map((item, at) => (String(at) === first ? withDots(item, rest) : item));
  const inside = record(value);
  if (inside === null) return value;
  const map = record(inside.$map);
  if (map !== null) return { $map: withDots(map, [first, ...rest]) };
  return Object.hasOwn(inside, first) ? { ...inside, [first]: withDots(inside[first] as Json, rest) } : value;
}

function fieldOf(name: string, own: Schema, root: Schema, optional: boolean): Field {
  const { schema, nullable } = withoutNull(resolve(own, root), root);
  const choices = Array.isArray(schema.enum) ? schema.enum : schema.const !== undefined ? [schema.const] : [];
  const input = inputOf(schema, choices);
  const field = { name, input, whole: schema.type === "integer", optional, nullable, secret: isSecret(root, name), choices, schema };
  return { ...field, rule: [ruleOf(schema, input, choices), ...(optional || nullable ? ["optional"] : [])].join(", ") };
}

function inputOf(schema: Schema, choices: Json[]): Input {
  if (choices.length > 0) return "choice";
  if (schema.type === "boolean") return "switch";
  if (schema.type === "number" || schema.type === "integer") return "number";
  if (schema.type !== "string") return "json";
  if (schema.format === "date") return "date";
  return schema.pattern === undefined && schema.format === undefined && longest(schema) > 60 ? "lines" : "text";
}

function longest(schema: Schema): number {
  return typeof schema.maxLength === "number" ? schema.maxLength : Number.POSITIVE_INFINITY;
}

function ruleOf(schema: Schema, input: Input, choices: Json[]): string {
  if (input === "choice") return `one of ${choices.length}`;
  if (input === "switch") return "yes or no";
  if (input === "date") return "date";
  if (input === "json") return typeof schema.type === "string" ? `${schema.type}, as JSON` : "JSON";
  if (input === "number") {
    const kind = schema.type === "integer" ? "whole number" : "number";
    const [low, high] = [schema.minimum ?? schema.exclusiveMinimum, schema.maximum ?? schema.exclusiveMaximum];
    if (low !== undefined && high !== undefined) return `${kind}, ${json(low)} to ${json(high)}`;
    return low !== undefined ? `${kind}, from ${json(low)}` : high !== undefined ? `${kind}, up to ${json(high)}` : kind;
  }
  if (typeof schema.pattern === "string") return `text like ${example(schema) ?? schema.pattern}`;
  if (typeof schema.format === "string") return `text, ${schema.format}`;
  return typeof schema.maxLength === "number" ? `text, up to ${count(schema.maxLength)} characters` : "text";
}

/** An example from the schema, or from "e.g. …" in its description. */
function example(schema: Schema): string | null {
  const given = Array.isArray(schema.examples) ? schema.examples[0] : schema.example;
  if (typeof given === "string") return given;
  const said = typeof schema.description === "string" ? /e\.g\. (\S+)/.exec(schema.description) : null;
  return said?.[1]?.replace(/[.,;)]$/, "") ?? null;
}

/** What is wrong with a value, in words; null when nothing is known to be. */
export function problemOf(field: Field, value: Json | undefined): string | null {
  const { schema } = field;
  if (value === undefined) return field.optional ? null : "Is needed";
  if (value === null && field.nullable) return null;
  if (field.input === "choice") return field.choices.some((choice) => json(choice) === json(value)) ? null : "Must be one of the choices";
  if (field.input === "number") return numberProblem(field, value);
  if (field.input === "switch") return typeof value === "boolean" ? null : "Must be yes or no";
  if (field.input === "json") return kindProblem(schema, value);
  return typeof value === "string" ? textProblem(schema, value) : "Must be text";
}

function numberProblem({ schema, whole }: Field, value: Json): string | null {
  const number = typeof value === "number" ? value : marked(value);
  if (number === null || Number.isNaN(number)) return whole ? "Must be a whole number" : "Must be a number";
  if (whole && typeof value === "number" && !Number.isInteger(value)) return "Must be a whole number";
  if (typeof schema.minimum === "number" && number < schema.minimum) return `Must be ${json(schema.minimum)} or more`;
  if (typeof schema.maximum === "number" && number > schema.maximum) return `Must be ${json(schema.maximum)} or less`;
  if (typeof schema.exclusiveMinimum === "number" && number <= schema.exclusiveMinimum) return `Must be more than ${json(schema.exclusiveMinimum)}`;
  if (typeof schema.exclusiveMaximum === "number" && number >= schema.exclusiveMaximum) return `Must be less than ${json(schema.exclusiveMaximum)}`;
  return null;
}

function textProblem(schema: Schema, value: string): string | null {
  const characters = Array.from(value).length;
  if (typeof schema.minLength === "number" && characters < schema.minLength) return `Must have ${count(schema.minLength)} characters or more`;
  if (characters > longest(schema)) return `Must have ${count(longest(schema))} characters or less; has ${count(characters)}`;
  if (schema.format === "date" && !isDate(value)) return "Must be a date, e.g. 2026-12-31";
  if (typeof schema.pattern === "string" && !matches(schema.pattern, value)) {
    const given = example(schema);
    return given !== null ? `Must be like ${given}` : `Must match ${schema.pattern}`;
  }
  return null;
}

function kindProblem(schema: Schema, value: Json): string | null {
  if (schema.type === "array" && !Array.isArray(value)) return "Must be a list";
  if (schema.type === "object" && (value === null || typeof value !== "object" || Array.isArray(value))) return "Must be an object";
  return null;
}

function matches(pattern: string, value: string): boolean {
  try {
    return new RegExp(pattern, "u").test(value);
  } catch {
    return true; // a pattern of another dialect: the kernel decides
  }
}

function isDate(value: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(value) && !Number.isNaN(Date.parse(value));
}

/** The number in a marked value such as {"$int": "12345678901234567890"}. */
export function marked(value: Json): number | null {
  const inner = record(value);
  const text = inner?.$int ?? inner?.$float;
  return typeof text === "string" ? Number(text) : null;
}

function withoutNull(schema: Schema, root: Schema): { schema: Schema; nullable: boolean } {
  const any = Array.isArray(schema.anyOf) ? schema.anyOf : null;
  if (any === null) return { schema, nullable: false };
  const rest = any.map((one) => resolve(record(one) ?? {}, root)).filter((one) => one.type !== "null");
  const nullable = rest.length < any.length;
  const { anyOf: _, ...around } = schema;
  return rest.length === 1 ? { schema: { ...around, ...rest[0] }, nullable } : { schema: around, nullable };
}

function resolve(schema: Schema, root: Schema): Schema {
  if (typeof schema.$ref !== "string") return schema;
  const name = /^#\/\$defs\/(.+)$/.exec(schema.$ref)?.[1];
  const found = name === undefined ? undefined : (record(root.$defs) ?? {})[name];
  const { $ref: _, ...around } = schema;
  return { ...(record(found) ?? {}), ...around };
}

function record(value: Json | undefined): Schema | null {
  return value !== null && value !== undefined && typeof value === "object" && !Array.isArray(value) ? value : null;
}

/** What was typed into a field, as a value; undefined for an empty optional one, null when it is none. */
export function typed(field: Field, text: string): { value: Json | undefined } | null {
  if (text === "" && field.input !== "text" && field.input !== "lines") {
    return field.optional ? { value: undefined } : field.nullable ? { value: null } : null;
  }
  if (field.input === "number") {
    if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text.trim())) return null;
    const number = Number(text);
    return { value: Number.isInteger(number) && !Number.isSafeInteger(number) && field.whole ? { $int: text.trim() } : number };
  }
  if (field.input === "json") return parsed(text);
  return { value: text };
}

/** JSON that was typed, with integers that JavaScript would round kept as they are. */
export function parsed(text: string): { value: Json } | null {
  try {
    const kept = text.replace(/"(?:[^"\\]|\\.)*"|-?\d{16,}(?![\d.eE])/g, (part) =>
      part.startsWith('"') || Number.isSafeInteger(Number(part)) ? part : `{"$int":"${part}"}`,
    );
    return { value: JSON.parse(kept) as Json };
  } catch {
    return null;
  }
}

/** A value as it stands in an input. */
export function inField(field: Field, value: Json | undefined): string {
  if (value === undefined) return "";
  if (field.input === "json") return json(value, 2);
  return typeof value === "string" ? value : value === null ? "" : json(value);
}

/**
 * Strict, bounded JSON: what every reader reads alike. Refused besides bad syntax: more bytes or
 * levels than allowed, duplicate keys (Node keeps the last, Go merges), `__proto__`, invalid UTF-8
 * and lone surrogates (Go replaces them silently), numbers that a double cannot keep.
 */
import { Buffer, isUtf8 } from "node:buffer";
import { formatPath } from "./keypath.ts";
import { Fault, Members, readText, type Tree } from "./text.ts";
import type { ProblemKind } from "./problems.ts";

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
/** Has no prototype: `value.constructor` is the document's or nothing. */
export type JsonObject = { readonly [name: string]: Json };

export type JsonLimits = Readonly<{ bytes: number; depth: number }>;
/** What is wrong, and where: a key path, or a position where there is none yet. */
type JsonFault = Readonly<{ kind: ProblemKind; path: string }>;
export type JsonRead =
  | Readonly<{ ok: true; value: Json }>
  | Readonly<{ ok: false; faults: readonly JsonFault[] }>;

/**
 * 1 MiB: the API server's limit for all values of a Secret. 32 levels: ten times what a pull secret
 * needs.
 */
export const documentLimits: JsonLimits = { bytes: 1024 * 1024, depth: 32 };

/** 1 MiB can hold 170,000 faults; nobody reads more than these. */
const mostFaults = 20;

/**
 * Reads bytes as strict JSON. Never throws; a fault holds no value of the document. `decoded`:
 * their text, from whoever has it and knows that they are UTF-8.
 */
export function readJson(
  bytes: Uint8Array,
  limits: JsonLimits = documentLimits,
  decoded?: string,
): JsonRead {
  if (bytes.length > limits.bytes)
    return { ok: false, faults: [{ kind: "tooBig", path: "document" }] };
  if (decoded === undefined && !isUtf8(bytes))
    return { ok: false, faults: [{ kind: "notUtf8", path: `byte ${badByte(bytes)}` }] };
  // A TextDecoder that checks as it goes takes three times as long.
  const text =
    decoded ?? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8");
  const tree = readText(text, limits.depth);
  if (tree instanceof Fault)
    return { ok: false, faults: [{ kind: tree.kind, path: position(text, tree.at) }] };
  const faults: JsonFault[] = [];
  const value = new Settler(faults).settle(tree);
  return faults.length === 0 ? { ok: true, value } : { ok: false, faults };
}

/** Whether a value is a JSON object. */
export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The byte, from 1, at which the text stops being UTF-8; found by halves: 20 looks at 1 MiB. */
function badByte(bytes: Uint8Array): number {
  let [good, bad] = [0, bytes.length + 1];
  while (bad - good > 1) {
    const middle = (good + bad) >> 1;
    try {
      // stream: a character that is cut off at the end is not wrong yet.
      new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(0, middle), { stream: true });
      good = middle;
    } catch {
      bad = middle;
    }
  }
  return bad;
}

/** `line 3, column 14`, both from 1, columns in characters. */
function position(text: string, at: number): string {
  const before = text.slice(0, at).split("\n");
  return `line ${before.length}, column ${(before.at(-1) ?? "").length + 1}`;
}

/**
 * Makes plain values of a tree, if it has no ambiguity. Recursion is bounded by the depth limit.
 */
class Settler {
  readonly #faults: JsonFault[];
  /** Where we are; written out only for a fault. */
  readonly #steps: (string | number)[] = [];

  constructor(faults: JsonFault[]) {
    this.#faults = faults;
  }

  settle(tree: Tree): Json {
    if (tree instanceof Members) return this.#object(tree);
    if (Array.isArray(tree)) return tree.map((item, index) => this.#below(index, item));
    if (typeof tree === "string" && !tree.isWellFormed()) this.#fault("loneSurrogate");
    if (Number.isNaN(tree)) this.#fault("number");
    return tree;
  }

  #object({ names, values }: Members): JsonObject {
    const object = Object.create(null) as Record<string, Json>;
    for (let index = 0; index < names.length; index++) {
      const name = names[index] ?? "";
      if (name === "__proto__") this.#fault("forbiddenKey", name);
      else if (name in object) this.#fault("duplicate", name);
      else if (!name.isWellFormed()) this.#fault("loneSurrogate", name);
      else object[name] = this.#below(name, values[index] ?? null);
    }
    return object;
  }

  #below(step: string | number, tree: Tree): Json {
    this.#steps.push(step);
    const value = this.settle(tree);
    this.#steps.pop();
    return value;
  }

  #fault(kind: ProblemKind, ...below: string[]): void {
    if (this.#faults.length < mostFaults)
      this.#faults.push({ kind, path: formatPath([...this.#steps, ...below]) });
  }
}

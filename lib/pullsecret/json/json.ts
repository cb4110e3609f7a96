/**
 * Strict, bounded JSON, which all parsers read in the same way. Besides bad syntax it refuses: more
 * bytes or levels than allowed, duplicate keys (Node keeps the last, Go merges), `__proto__`,
 * invalid UTF-8 and lone surrogates (Go replaces them silently), numbers that a double cannot hold
 * exactly.
 */
import { Buffer, isUtf8 } from "node:buffer";
import { Fault, readText } from "./text.ts";
import { doubleOf, valuesOf, type JsonFault, type Values } from "./values.ts";

/** A value whose numbers are doubles. */
export type Json = Values<number>;
/** An object without a prototype: `value.constructor` is a member of the document, or undefined. */
export type JsonObject = { readonly [name: string]: Json };

export type JsonLimits = Readonly<{ bytes: number; depth: number }>;
export type JsonRead =
  | Readonly<{ ok: true; value: Json }>
  | Readonly<{ ok: false; faults: readonly JsonFault[] }>;

/**
 * 1 MiB: the API server's limit for all values of a Secret. 32 levels: ten times what a pull secret
 * needs.
 */
export const documentLimits: JsonLimits = { bytes: 1024 * 1024, depth: 32 };

/** Reads bytes as strict JSON. Never throws; a fault contains no value of the document. */
export function readJson(bytes: Uint8Array, limits: JsonLimits = documentLimits): JsonRead {
  if (bytes.length > limits.bytes)
    return { ok: false, faults: [{ kind: "tooBig", path: "document" }] };
  const fault = notUtf8(bytes);
  if (fault !== undefined) return { ok: false, faults: [fault] };
  // A TextDecoder that validates while decoding takes three times as long.
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8");
  const tree = readText(text, limits.depth);
  if (tree instanceof Fault)
    return { ok: false, faults: [{ kind: tree.kind, path: position(text, tree.at) }] };
  const { value, faults } = valuesOf(tree, { numeral: doubleOf, depth: limits.depth });
  return faults.length === 0 ? { ok: true, value } : { ok: false, faults };
}

/** The place where bytes stop being UTF-8, if they do. */
export function notUtf8(bytes: Uint8Array): JsonFault | undefined {
  return isUtf8(bytes) ? undefined : { kind: "notUtf8", path: `byte ${badByte(bytes)}` };
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * The byte, counted from 1, where the text stops being UTF-8. A binary search: 20 checks for 1 MiB.
 */
function badByte(bytes: Uint8Array): number {
  let [good, bad] = [0, bytes.length + 1];
  while (bad - good > 1) {
    const middle = (good + bad) >> 1;
    try {
      // With `stream`, a character that is cut off at the end is not an error yet.
      new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(0, middle), { stream: true });
      good = middle;
    } catch {
      bad = middle;
    }
  }
  return bad;
}

/** `line 3, column 14`. Both are counted from 1, and columns are counted in characters. */
function position(text: string, at: number): string {
  const before = text.slice(0, at).split("\n");
  return `line ${before.length}, column ${(before.at(-1) ?? "").length + 1}`;
}

/**
 * The lower-case form of a name, in which U+017F becomes s, and U+212A becomes k. Two names with
 * the same form mean the same field.
 */
export function fold(name: string): string {
  return name.replaceAll("\u017f", "s").replaceAll("\u212a", "k").toLowerCase();
}

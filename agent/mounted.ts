/**
 * global-pull-secret as the kubelet mounted it. The three files are read through one `..data` target: the kubelet swaps that
 * link when the Secret changes, and a document of one revision with the number of another must never be applied.
 */
import { createHash } from "node:crypto";
import { closeSync, fstatSync, openSync, readlinkSync, readSync } from "node:fs";
import { join } from "node:path";
import { readJson } from "../pullsecret/json.ts";
import { secretKeys } from "../pullsecret/names.ts";
import { parse } from "../pullsecret/parse.ts";
import { formatProblem } from "../pullsecret/problems.ts";
import { isObject } from "./document.ts";
import { hasCode } from "./errno.ts";
import type { Wanted } from "./threeway.ts";

export type Mounted =
  | Readonly<{
      kind: "document";
      revision: number;
      /** Digest of everything that decides what is written; a content that failed is known by it. */
      content: string;
      wanted: Wanted;
      /** No entry is an additional one: the node is to be left as if we had never been there. */
      release: boolean;
    }>
  | Readonly<{ kind: "incomplete"; why: string }>
  | Readonly<{ kind: "refused"; why: string; revision: number }>;

/** The API server lets a Secret have 1 MiB. */
const mostBytes = 1024 * 1024;

/** Reads the mount. Never throws. */
export function readMounted(directory: string): Mounted {
  try {
    const target = swapTarget(directory);
    const read = (name: string) => readBounded(join(directory, target, name));
    const [number, document, sources] = [
      read(secretKeys.revision),
      read(secretKeys.document),
      read(secretKeys.sources),
    ];
    if (swapTarget(directory) !== target) return { kind: "incomplete", why: "swapped while it was read" };
    return interpret(number, document, sources);
  } catch (error) {
    return { kind: "incomplete", why: error instanceof Error && "code" in error ? String(error.code) : String(error) };
  }
}

/** Pure part of readMounted. */
export function interpret(number: Buffer, document: Buffer, sources: Buffer): Mounted {
  const revision = /^\d{1,15}\n?$/.test(number.toString("latin1")) ? Number(number.toString("latin1")) : undefined;
  if (revision === undefined) return { kind: "incomplete", why: "revision is not a number" };
  if (document.length > mostBytes || sources.length > mostBytes)
    return { kind: "refused", revision, why: "more than 1 MiB" };
  const parsed = parse(document, { name: "global-pull-secret", role: "original" });
  if (!parsed.ok) {
    const [first] = parsed.problems;
    return { kind: "refused", revision, why: first === undefined ? "refused" : formatProblem(first) };
  }
  const origin = readJson(sources);
  if (!origin.ok || !isObject(origin.value)) return { kind: "refused", revision, why: "sources: not a JSON object" };
  const from = new Map(Object.entries(origin.value));
  const entries = parsed.entries.map(({ registry, credential }) => {
    // An entry that sources do not name is treated as an additional one: that is the one that can be taken back.
    const original = from.get(registry) === "original";
    return [registry, { value: { auth: credential.encode() }, original }] as const;
  });
  return {
    kind: "document",
    revision,
    content: createHash("sha256").update(document).update("\0").update(sources).digest("base64url"),
    wanted: { entries: new Map(entries), rest: new Map(Object.entries(parsed.rest)) },
    release: ![...from.values()].includes("additional"),
  };
}

/** Name of the directory that holds the present files; empty where the files lie in the directory itself. */
function swapTarget(directory: string): string {
  try {
    return readlinkSync(join(directory, "..data"));
  } catch (error) {
    if (hasCode(error, "ENOENT")) return "";
    throw error;
  }
}

/** At most one byte more than is allowed, so that a huge file is seen as such without being read. */
function readBounded(file: string): Buffer {
  const descriptor = openSync(file, "r");
  try {
    const buffer = Buffer.allocUnsafe(Math.min(fstatSync(descriptor).size, mostBytes) + 1);
    let length = 0;
    while (length < buffer.length) {
      const read = readSync(descriptor, buffer, length, buffer.length - length, length);
      if (read === 0) break;
      length += read;
    }
    // No copy: a look at the largest Secret is what the agent's memory is measured by.
    return buffer.subarray(0, length);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * global-pull-secret as the kubelet mounted it. All files are read through one target of `..data`,
 * the link that the kubelet swaps when the Secret changes: a document of one revision must never be
 * applied under the number of another.
 */
import { createHash } from "node:crypto";
import { closeSync, fstatSync, openSync, readlinkSync, readSync } from "node:fs";
import { join } from "node:path";
import { isObject, readJson } from "#pullsecret/json/json.ts";
import { digestOf, saltLength } from "#pullsecret/merge/digest.ts";
import { type Intent, type Registration, secretKeys } from "#contract/names.ts";
import { parse } from "#pullsecret/document/parse.ts";
import { formatProblem } from "#pullsecret/problems/problems.ts";
import { hasCode } from "../files/errno.ts";

export type Mounted =
  | Readonly<{
      kind: "document";
      revision: number;
      /** Salted digest of what the revision says: with the number it makes the revision. */
      digest: string;
      /**
       * Digest of everything that decides what is written; a content that failed is known by it.
       */
      content: string;
      desired: Desired;
      /** What is to be done with it; a release leaves the node as if we had never been there. */
      intent: Intent;
      /** No node has shown yet that a kubelet asks the provider it is told of. */
      proving?: true;
    }>
  | Readonly<{ kind: "incomplete"; why: string }>
  | Readonly<{ kind: "refused"; why: string; revision: number }>;

export type Document = Extract<Mounted, { kind: "document" }>;

/**
 * What the mounted Secret asks for. `original`: the entry comes from the original pull secret.
 * `vacant`: config.json is to have no entry for this registry, whose credential comes another way.
 */
export type Desired = Readonly<{
  entries: ReadonlyMap<string, Readonly<{ value: unknown; original: boolean; vacant?: true }>>;
  rest: ReadonlyMap<string, unknown>;
}>;

/** The API server lets a Secret have 1 MiB. */
const mostBytes = 1024 * 1024;

/** Reads the mount. Never throws. */
export function readMounted(directory: string): Mounted {
  try {
    const target = swapTarget(directory);
    const read = (name: string) => readBounded(join(directory, target, name));
    const files = {
      revision: read(secretKeys.revision),
      document: read(secretKeys.document),
      salt: read(secretKeys.salt),
      intent: read(secretKeys.intent),
      sources: read(secretKeys.sources),
      registration: orNothing(() => read(secretKeys.registration)),
    };
    if (swapTarget(directory) !== target)
      return { kind: "incomplete", why: "swapped while it was read" };
    return interpret(files);
  } catch (error) {
    return {
      kind: "incomplete",
      why: error instanceof Error && "code" in error ? String(error.code) : String(error),
    };
  }
}

type Needed = Exclude<keyof typeof secretKeys, "registration">;
type Files = Readonly<Record<Needed, Buffer>> & Readonly<{ registration?: Buffer }>;

/** The pure part of readMounted: interprets the files, by their keys in contract/names.ts. */
export function interpret(files: Files): Mounted {
  const { document, salt, sources } = files;
  const number = files.revision.toString("latin1");
  const revision = /^\d{1,15}\n?$/.test(number) ? Number(number) : undefined;
  if (revision === undefined) return { kind: "incomplete", why: "revision is not a number" };
  const intent = intents.find((one) => one === files.intent.toString("latin1"));
  if (intent === undefined)
    return { kind: "incomplete", why: `intent is none of ${intents.join(", ")}` };
  if (salt.length !== saltLength)
    return { kind: "incomplete", why: `salt has not ${saltLength} bytes` };
  if (document.length > mostBytes || sources.length > mostBytes)
    return { kind: "refused", revision, why: "more than 1 MiB" };
  const parsed = parse(document, { name: "global-pull-secret", role: "original" });
  if (!parsed.ok) {
    const [first] = parsed.problems;
    return {
      kind: "refused",
      revision,
      why: first === undefined ? "refused" : formatProblem(first),
    };
  }
  const origin = readJson(sources);
  if (!origin.ok || !isObject(origin.value))
    return { kind: "refused", revision, why: "sources: not a JSON object" };
  const from = new Map(Object.entries(origin.value));
  const entries = parsed.entries.map(({ registry, credential }) => {
    // An entry that `sources` does not name counts as additional, because that can be taken back.
    const original = from.get(registry) === "original";
    return [registry, { value: credential.entry(), original }] as const;
  });
  return {
    kind: "document",
    revision,
    digest: digestOf({ salt, intent, sources, document }),
    content: contentOf(document, sources, intent),
    desired: { entries: new Map(entries), rest: new Map(Object.entries(parsed.rest)) },
    intent,
    ...(files.registration?.toString("latin1") === proving && { proving: true }),
  };
}

const proving = "proving" satisfies Registration;

const intents = ["apply", "release", "hold"] as const satisfies readonly Intent[];

/**
 * The digest that a quarantine knows a content by. `hold` and `apply` of one document share it:
 * what failed under one has failed under the other.
 */
function contentOf(document: Buffer, sources: Buffer, intent: Intent): string {
  const hash = createHash("sha256").update(document).update("\0").update(sources);
  return (intent === "release" ? hash.update("\0release") : hash).digest("base64url");
}

/**
 * A name for what is mounted, which changes with it; `undefined` without the kubelet's `..data`
 * link, where files may change under the same name.
 */
export function mountOf(directory: string): string | undefined {
  try {
    return swapTarget(directory) || undefined;
  } catch {
    return undefined;
  }
}

/** The name of the directory with the present files; empty if they are in the mount itself. */
function swapTarget(directory: string): string {
  try {
    return readlinkSync(join(directory, "..data"));
  } catch (error) {
    if (hasCode(error, "ENOENT")) return "";
    throw error;
  }
}

/** A Secret of an older controller's has no such key. */
function orNothing(read: () => Buffer): Buffer {
  try {
    return read();
  } catch (error) {
    if (hasCode(error, "ENOENT")) return Buffer.alloc(0);
    throw error;
  }
}

/** Reads one byte more than is allowed at most, so that a huge file is recognized unread. */
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
    // Not copied: a look at the largest Secret sets the agent's peak memory.
    return buffer.subarray(0, length);
  } finally {
    closeSync(descriptor);
  }
}

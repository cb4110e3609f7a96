/** Interprets one content of global-pull-secret. Pure. */
import { isObject, readJson } from "#pullsecret/json/json.ts";
import { digestOf, saltLength } from "#pullsecret/merge/digest.ts";
import { type Intent, servedKeys } from "#contract/names.ts";
import { revisionOf } from "#contract/order.ts";
import { parse } from "#pullsecret/document/parse.ts";
import { formatProblem } from "#pullsecret/problems/problems.ts";
import type { Content } from "../journal/journal.ts";

/** `isRelease`: everything of ours leaves the node. */
export type Published = Content & Readonly<{ isRelease: boolean }>;

export type Mounted =
  | (Readonly<{ kind: "document" }> & Published)
  | Readonly<{ kind: "incomplete" | "refused"; why: string }>;

/** The API server's limit for a Secret. */
export const mostBytes = 1024 * 1024;

/** The files of one content. Their names are the keys in lib/contract/names.ts. */
export type ContentFiles = Readonly<Record<keyof typeof servedKeys, Buffer>>;

/** A valid revision; undefined for any other text. */
export function revisionIn(text: Buffer): number | undefined {
  return revisionOf(text.toString("latin1").replace(/\n$/, ""));
}

/** Interprets the files of one content. Never throws. */
export function interpret(files: ContentFiles): Mounted {
  const { document, salt, sources } = files;
  const revision = revisionIn(files.revision);
  if (revision === undefined) return { kind: "incomplete", why: "revision is not a number" };
  const intent = intents.find((candidate) => candidate === files.intent.toString("latin1"));
  if (intent === undefined)
    return { kind: "incomplete", why: `intent must be one of ${intents.join(", ")}` };
  if (salt.length !== saltLength)
    return { kind: "incomplete", why: `salt does not have ${saltLength} bytes` };
  if (document.length > mostBytes || sources.length > mostBytes)
    return { kind: "refused", why: "more than 1 MiB" };
  const parsed = parse(document, { name: "global-pull-secret", role: "original" });
  if (!parsed.ok) {
    const [first] = parsed.problems;
    return { kind: "refused", why: first === undefined ? "refused" : formatProblem(first) };
  }
  const origin = readJson(sources);
  if (!origin.ok || !isObject(origin.value))
    return { kind: "refused", why: "sources: not a JSON object" };
  const from = new Map(Object.entries(origin.value));
  return {
    kind: "document",
    isRelease: intent === "release",
    revision,
    digest: digestOf({ salt, intent, sources, document }),
    entries: parsed.entries.map(({ registry, credential }) => ({
      key: registry,
      raw: JSON.stringify(credential.entry()),
      // An entry that `sources` does not list counts as additional, so that a withdrawal removes
      // the entry.
      original: from.get(registry) === "original",
      place: "file",
    })),
    rest: Object.entries(parsed.rest).map(([key, value]) => ({ key, raw: JSON.stringify(value) })),
  };
}

const intents = ["apply", "release"] as const satisfies readonly Intent[];

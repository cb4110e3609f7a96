/** Interprets one content of global-pull-secret. Pure. */
import { createHash } from "node:crypto";
import { isObject, readJson } from "#pullsecret/json/json.ts";
import { digestOf, saltLength } from "#pullsecret/merge/digest.ts";
import { type Intent, servedKeys } from "#contract/names.ts";
import { revisionOf } from "#contract/order.ts";
import { parse } from "#pullsecret/document/parse.ts";
import { formatProblem } from "#pullsecret/problems/problems.ts";

export type Mounted =
  | Readonly<{
      kind: "document";
      revision: number;
      /**
       * Salted digest of the revision's content. Together with the number it identifies the
       * revision.
       */
      digest: string;
      /**
       * Digest of everything that determines the written file. The quarantine recognizes a failed
       * content by this digest.
       */
      content: string;
      desired: Desired;
      /**
       * What to do with the document. A release restores the node's state before our first change.
       */
      intent: Intent;
      /** A node without a journal is allowed to take this content without an order. */
      served?: true;
    }>
  /** The Secret does not have the content. `revision`: the revision of the newest content. */
  | Readonly<{ kind: "other"; revision: number; why?: string }>
  /** Nothing is served. */
  | Readonly<{ kind: "nothing" }>
  | Readonly<{ kind: "incomplete"; why: string }>
  | Readonly<{ kind: "refused"; why: string; revision: number }>;

/** The newest content of the Secret: its number, and whether it has a registry, in any spelling. */
export type Newest = Readonly<{ revision: number; has: (registry: string) => boolean }>;

export type Document = Extract<Mounted, { kind: "document" }>;

/**
 * The entries that the mounted Secret requests. `original`: the entry comes from the original pull
 * secret. `vacant`: config.json must have no entry for this registry, because the credential
 * provider serves the registry.
 */
export type Desired = Readonly<{
  entries: ReadonlyMap<string, Readonly<{ value: unknown; original: boolean; vacant?: true }>>;
  rest: ReadonlyMap<string, unknown>;
}>;

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
    // An entry that `sources` does not list counts as additional, so that a withdrawal removes the
    // entry.
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
  };
}

const intents = ["apply", "release"] as const satisfies readonly Intent[];

/** The digest by which a quarantine recognizes a content. */
function contentOf(document: Buffer, sources: Buffer, intent: Intent): string {
  const hash = createHash("sha256").update(document).update("\0").update(sources);
  return (intent === "release" ? hash.update("\0release") : hash).digest("base64url");
}

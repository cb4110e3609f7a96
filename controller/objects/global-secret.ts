/** global-pull-secret: the newest content, and the served content for new nodes. */
import { Buffer } from "node:buffer";
import type { V1Secret } from "@kubernetes/client-node";
import { randomBytes } from "node:crypto";
import { readSources } from "#pullsecret/merge/canonical.ts";
import { digestOf, saltLength } from "#pullsecret/merge/digest.ts";
import { nextFormer, type Value } from "#pullsecret/merge/former.ts";
import { imagesOf } from "#pullsecret/registry/key.ts";
import {
  type PublishedMode,
  publishedModes,
  type RevisionContent,
  formerKey,
  globalSecretName,
  namespace,
  secretKeys,
  secretType,
  servedKeys,
  sourceIds,
} from "#contract/names.ts";
import { fieldManager, ownerLabels } from "#kube/client/ownership.ts";
import { owned } from "#kube/client/paths.ts";
import { annotations } from "./annotations.ts";
import { withoutTimes } from "./state.ts";

/** Content with its revision. `salt`: empty if the key is malformed. */
export type Numbered = RevisionContent & Readonly<{ revision: number; salt: Buffer }>;

/**
 * The Secret as it was read. If an edit makes the Secret malformed, it counts as absent and is
 * written again.
 */
export type Published = Numbered &
  Readonly<{
    /** Undefined if the key is malformed. */
    mode: PublishedMode | undefined;
    /**
     * The served slot: "nothing", or the content that new nodes get. This can be the newest
     * content.
     */
    served: Numbered | "nothing";
    /** When the newest content was published, in seconds since 1970. 0 if unknown. */
    publishedAt: number;
  }>;

/**
 * The digest of the content. An order contains this digest and the revision. Empty if there is no
 * salt.
 */
export function contentDigest({
  salt,
  intent,
  sources,
  document,
}: Omit<Numbered, "revision">): string {
  if (salt.length !== saltLength) return "";
  return digestOf({ salt, intent, sources: Buffer.from(sources), document: Buffer.from(document) });
}

/** Registry → id of its source. Empty if the text is malformed. */
export const suppliersIn = ({ sources }: Pick<Numbered, "sources">): Record<string, string> =>
  readSources(sources);

export const newSalt = (): Buffer => randomBytes(saltLength);

/** Reads the Secret. Undefined if it has no revision of ours. Never throws. */
export function readPublished(secret: V1Secret | undefined): Published | undefined {
  const newest = readSlot(secret, newestKeys);
  if (newest === undefined) return undefined;
  const mode = textOf(secret, modeKey);
  const at = Date.parse(secret?.metadata?.annotations?.[annotations.published] ?? "");
  return {
    ...newest,
    mode: publishedModes.find((candidate) => candidate === mode),
    served: readServed(secret, newest),
    publishedAt: Number.isNaN(at) ? 0 : at / 1000,
  };
}

const { mode: modeKey, ...newestKeys } = secretKeys;

function readServed(secret: V1Secret | undefined, newest: Numbered): Published["served"] {
  const revision = textOf(secret, servedKeys.revision);
  if (revision === String(newest.revision)) return newest;
  const served = readSlot(secret, servedKeys);
  return served === undefined || served.revision > newest.revision ? "nothing" : served;
}

function readSlot(
  secret: V1Secret | undefined,
  keys: typeof servedKeys | typeof newestKeys,
): Numbered | undefined {
  const revision = textOf(secret, keys.revision);
  if (!/^[1-9]\d{0,14}$/.test(revision)) return undefined;
  const intent = textOf(secret, keys.intent);
  return {
    revision: Number(revision),
    document: textOf(secret, keys.document),
    sources: textOf(secret, keys.sources),
    intent: intent === "release" ? "release" : "apply",
    salt: Buffer.from(secret?.data?.[keys.salt] ?? "", "base64"),
  };
}

const textOf = (secret: V1Secret | undefined, key: string): string =>
  Buffer.from(secret?.data?.[key] ?? "", "base64").toString("utf8");

/**
 * True when another client wrote one of our keys. (Our field manager then no longer owns the key.)
 * Agents might then read content that was never published under its revision.
 */
export function isEdited(secret: V1Secret | undefined): boolean {
  const managed = secret?.metadata?.managedFields;
  if (managed === undefined) return false;
  const ours = managed.find(
    ({ manager, operation }) => manager === fieldManager && operation === "Apply",
  );
  const data = (ours?.fieldsV1 as Record<string, object> | undefined)?.["f:data"] ?? {};
  const keys = [...Object.values(secretKeys), ...Object.values(servedKeys), formerKey];
  return keys.some((key) => !(`f:${key}` in data));
}

const encode = (text: string) => Buffer.from(text).toString("base64");

/** The Secret's content before it is encoded. */
export type Declared = Readonly<{
  newest: Numbered;
  mode: PublishedMode;
  served: Numbered | "nothing";
  publishedAt: number;
  former: string;
}>;

/**
 * The images that each registry of a document serves (registry/key.ts), by the registry's key. A
 * malformed document has none.
 */
function imagesIn(document: string): ReadonlyMap<string, string> {
  try {
    const { auths } = JSON.parse(document) as { auths?: object };
    return new Map(Object.keys(auths ?? {}).map((registry) => [registry, imagesOf(registry)]));
  } catch {
    return new Map();
  }
}

/** The registries of this content that serve images for which the other document has no entry. */
function otherRegistries({ document }: Numbered, other: string): readonly string[] {
  const remaining = new Set(imagesIn(other).values());
  return [...imagesIn(document)].flatMap(([registry, images]) =>
    remaining.has(images) ? [] : [registry],
  );
}

/** True if the content has a registry that the other document lacks, however it is spelled. */
export const hasOtherRegistries = (content: Numbered, other: string): boolean =>
  otherRegistries(content, other).length > 0;

/**
 * The served content without the registries that newer content lacks. It keeps its revision. Its
 * digest changes with the document.
 */
export function withoutRemoved(content: Numbered, newer: string): Numbered {
  const removed = otherRegistries(content, newer);
  if (removed.length === 0) return content;
  const document = JSON.parse(content.document) as { auths: Record<string, unknown> };
  const sources = suppliersIn(content);
  for (const registry of removed) {
    delete document.auths[registry];
    delete sources[registry];
  }
  return { ...content, document: JSON.stringify(document), sources: JSON.stringify(sources) };
}

type Documents = Pick<Numbered, "document" | "sources">;

/** The additional values of a content. The original's values are not ours. */
function additionalIn(content: Documents): Value[] {
  try {
    const { auths = {} } = JSON.parse(content.document) as { auths?: Record<string, unknown> };
    const sources = suppliersIn(content);
    return Object.entries(auths).flatMap(([key, entry]) =>
      sources[key] === sourceIds.original ? [] : [{ key, entry: JSON.stringify(entry) }],
    );
  } catch {
    return [];
  }
}

/** The key `former` of the Secret. It does not depend on the other keys, which can be malformed. */
export const formerIn = (secret: V1Secret | undefined): string => textOf(secret, formerKey);

/** The key `former` after `next` is published: with the values that it does not have any more. */
export function formerAfter(secret: V1Secret | undefined, next: Documents): string {
  // The newest values come last, because the first ones are forgotten if they are too many.
  const left = [servedKeys, newestKeys].flatMap((keys) =>
    additionalIn({
      document: textOf(secret, keys.document),
      sources: textOf(secret, keys.sources),
    }),
  );
  const present = additionalIn(next);
  const salt = newSalt().toString("base64url");
  return nextFormer(formerIn(secret), { left, present, salt });
}

/** The declared Secret. It always has all keys, because the agents' volume names each of them. */
export function globalSecret({ newest, mode, served, publishedAt, former }: Declared): V1Secret {
  const number = served === "nothing" ? 0 : served.revision;
  const other = served === "nothing" || number === newest.revision ? undefined : served;
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      name: globalSecretName,
      namespace,
      labels: { ...ownerLabels },
      annotations: { [annotations.published]: new Date(publishedAt * 1000).toISOString() },
    },
    type: secretType,
    data: {
      ...slot(newestKeys, newest),
      [modeKey]: encode(mode),
      ...slot(servedKeys, other),
      [servedKeys.revision]: encode(String(number)),
      [formerKey]: encode(former),
    },
  };
}

/**
 * The part of a write that stays the same when the controller publishes the same content again, or
 * writes the same state again. It excludes revision, salt, times and served slot. With this part,
 * `contested` recognizes that another client keeps undoing the same write, and limits the
 * controller's writes. If `contested` compared the whole write, each would count as new content,
 * and there would be no limit. Undefined for other objects, and for a write without data.
 */
export function wantedOf(path: string, body: object): object | undefined {
  const { data } = body as V1Secret;
  if (data === undefined) return undefined;
  if (path === owned.state) return withoutTimes(data);
  if (path !== owned.global) return undefined;
  const { revision: _, salt: __, ...newest } = newestKeys;
  return [...Object.values(newest), modeKey].map((key) => data[key]);
}

/** The keys of one slot. Without content, all values are empty. */
function slot(keys: typeof servedKeys | typeof newestKeys, content: Numbered | undefined) {
  return {
    [keys.document]: encode(content?.document ?? ""),
    [keys.revision]: encode(String(content?.revision ?? 0)),
    [keys.salt]: content?.salt.toString("base64") ?? "",
    [keys.intent]: encode(content?.intent ?? ""),
    [keys.sources]: encode(content?.sources ?? ""),
  };
}

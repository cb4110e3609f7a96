/** global-pull-secret: what it holds, and whether that is what it should hold. */
import { Buffer } from "node:buffer";
import type { V1Secret } from "@kubernetes/client-node";
import { randomBytes } from "node:crypto";
import { digestOf, saltLength } from "#pullsecret/merge/digest.ts";
import {
  type DeliveryMode,
  type RevisionContent,
  globalSecretName,
  type Intent,
  namespace,
  type Registration,
  secretKeys,
  secretType,
  servedKeys,
} from "#contract/names.ts";
import { fieldManager, ownerLabels } from "#kube/client/ownership.ts";

/**
 * The Secret as it is. Whatever was edited into something malformed reads as absent, and is then
 * written again.
 */
export type Published = Readonly<{
  document: string;
  sources: Readonly<Record<string, string>>;
  sourcesText: string;
  /** Secrets of controllers that wrote none: read off the sources, as their agents did. */
  intent: Intent;
  /** Empty in Secrets of controllers that wrote none. */
  salt: Buffer;
  /** 0 when missing or not a number. */
  revision: number;
}>;

/**
 * The digest that agents demand of the mounted Secret besides the revision; empty when there is no
 * salt.
 */
export function publishedDigest({ salt, intent, sourcesText, document }: Published): string {
  if (salt.length !== saltLength) return "";
  return digestOf({
    salt,
    intent,
    sources: Buffer.from(sourcesText),
    document: Buffer.from(document),
  });
}

/** A salt for a new revision. */
export const newSalt = (): Buffer => randomBytes(saltLength);

export function readPublished(secret: V1Secret | undefined): Published | undefined {
  if (secret === undefined) return undefined;
  const text = (key: string) => Buffer.from(secret.data?.[key] ?? "", "base64").toString("utf8");
  const revision = text(secretKeys.revision);
  const sourcesText = text(secretKeys.sources);
  const sources = readSources(sourcesText);
  const intent = text(secretKeys.intent);
  const salt = Buffer.from(secret.data?.[secretKeys.salt] ?? "", "base64");
  const known = intent === "apply" || intent === "release" || intent === "hold";
  const inferred = Object.values(sources).includes("additional") ? "apply" : "release";
  return {
    document: text(secretKeys.document),
    sources,
    sourcesText,
    intent: known ? intent : inferred,
    // No digest of ours covers an unknown intent, so this counts as having no salt.
    salt: known ? salt : Buffer.alloc(0),
    revision: /^[1-9]\d{0,14}$/.test(revision) ? Number(revision) : 0,
  };
}

function readSources(text: string): Record<string, string> {
  try {
    const value: unknown = JSON.parse(text);
    return Object.assign(Object.create(null) as object, value) as Record<string, string>;
  } catch {
    return {};
  }
}

/**
 * Revision and digest in the DaemonSet's template. The revision is 0 at birth, and when there is
 * none.
 */
type Template = Readonly<{ revision: number; digest: string }>;

/**
 * True when agents wait for content that global-pull-secret does not hold. It is gone, malformed or
 * older than the template; or it has the template's revision and other content, because etcd was
 * restored or somebody edited either.
 */
export function isLost(published: Published | undefined, template: Template): boolean {
  if (published === undefined || published.revision === 0 || published.revision < template.revision)
    return true;
  return published.revision === template.revision && publishedDigest(published) !== template.digest;
}

/**
 * True when a new revision is due: for another document or other sources (both are canonical, so
 * other bytes are another meaning), for another intent, for a Secret that an older controller
 * wrote, or for one that is lost.
 */
export function isPending(
  published: Published | undefined,
  wanted: RevisionContent,
  template: Template,
): boolean {
  if (published === undefined || isLost(published, template)) return true;
  if (published.salt.length !== saltLength || published.intent !== wanted.intent) return true;
  return published.document !== wanted.document || published.sourcesText !== wanted.sources;
}

/** The keys of the newest content. An edit of another key is repaired under the same revision. */
const { mode: _mode, registration: _registration, ...newest } = secretKeys;
const judged = Object.values(newest);

/**
 * True when somebody else wrote the Secret's data, since changing a field takes it from its field
 * manager. Agents may then read content under a revision that we never published, so the repair
 * does not wait for a wave.
 */
export function isEdited(secret: V1Secret | undefined): boolean {
  const managed = secret?.metadata?.managedFields;
  if (managed === undefined) return false;
  const ours = managed.find(
    ({ manager, operation }) => manager === fieldManager && operation === "Apply",
  );
  const data = (ours?.fieldsV1 as Record<string, object> | undefined)?.["f:data"] ?? {};
  return judged.some((key) => !(`f:${key}` in data));
}

/**
 * The next revision, greater than all before, even after objects were deleted or restored. `seen`:
 * revisions that are remembered elsewhere.
 */
export function nextRevision(published: Published | undefined, ...seen: readonly number[]): number {
  return Math.max(published?.revision ?? 0, ...seen) + 1;
}

const encode = (text: string) => Buffer.from(text).toString("base64");

type Salted = RevisionContent & Readonly<{ salt: Buffer; revision: number }>;

/** What new nodes may take; the newest content where it has the newest revision. */
export type ServedContent = Salted | undefined;

/** What the Secret tells besides the newest content. */
type Beside = Readonly<{
  registration: Registration;
  mode: DeliveryMode;
  served: ServedContent;
}>;

const nothingBeside: Beside = { registration: "proved", mode: "Restart", served: undefined };

/** The Secret as we declare it. */
export function globalSecret(
  content: Salted,
  { registration, mode, served }: Beside = nothingBeside,
): V1Secret {
  const other = served?.revision === content.revision ? undefined : served;
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: globalSecretName, namespace, labels: { ...ownerLabels } },
    type: secretType,
    data: {
      ...slot(secretKeys, content),
      [secretKeys.registration]: encode(registration),
      [secretKeys.mode]: encode(mode),
      ...slot(servedKeys, other),
      [servedKeys.revision]: encode(String(served?.revision ?? 0)),
    },
  };
}

/** The keys of one content; all empty without one. */
function slot(keys: typeof servedKeys | typeof newest, content: Salted | undefined) {
  return {
    [keys.document]: encode(content?.document ?? ""),
    [keys.revision]: encode(String(content?.revision ?? 0)),
    [keys.salt]: content?.salt.toString("base64") ?? "",
    [keys.intent]: encode(content?.intent ?? ""),
    [keys.sources]: encode(content?.sources ?? ""),
  };
}

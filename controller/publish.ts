/** global-pull-secret: what it says, and whether it says what it should. */
import { Buffer } from "node:buffer";
import type { V1Secret } from "@kubernetes/client-node";
import { globalSecretName, namespace, secretKeys, secretType } from "../pullsecret/names.ts";
import type { Wanted } from "./accept.ts";
import { fieldManager, ownerLabels } from "./ownership.ts";

/** The Secret as we find it. Whatever was edited into nonsense reads as absent, and is then written anew. */
export type Published = Readonly<{
  document: string;
  sources: Readonly<Record<string, string>>;
  sourcesText: string;
  /** 0 when missing or no number. */
  revision: number;
}>;

export function readPublished(secret: V1Secret | undefined): Published | undefined {
  if (secret === undefined) return undefined;
  const text = (key: string) => Buffer.from(secret.data?.[key] ?? "", "base64").toString("utf8");
  const revision = text(secretKeys.revision);
  const sourcesText = text(secretKeys.sources);
  return {
    document: text(secretKeys.document),
    sources: readSources(sourcesText),
    sourcesText,
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
 * True when a new revision is due: another document or other sources (both canonical, so other bytes are another meaning),
 * or a revision that is behind the template's because the Secret was lost or restored.
 */
export function isPending(published: Published | undefined, wanted: Wanted, template: number): boolean {
  if (published === undefined || published.revision === 0 || published.revision < template) return true;
  return published.document !== wanted.document || published.sourcesText !== wanted.sources;
}

/**
 * True when somebody else wrote what the Secret says: whoever changes a field's value takes it from its manager. Then agents may
 * be reading something under a revision that we never published, and no wave is worth waiting for.
 */
export function isEdited(secret: V1Secret | undefined): boolean {
  const managed = secret?.metadata?.managedFields;
  if (managed === undefined) return false;
  const ours = managed.find(({ manager, operation }) => manager === fieldManager && operation === "Apply");
  const data = (ours?.fieldsV1 as Record<string, object> | undefined)?.["f:data"] ?? {};
  return Object.values(secretKeys).some((key) => !(`f:${key}` in data));
}

/** The revision only grows, whoever deleted what: the template remembers it too. */
export function nextRevision(published: Published | undefined, template: number): number {
  return Math.max(published?.revision ?? 0, template) + 1;
}

const encode = (text: string) => Buffer.from(text).toString("base64");

/** The Secret as we declare it. */
export function globalSecret(content: { document: string; sources: string; revision: number }): V1Secret {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: globalSecretName, namespace, labels: { ...ownerLabels } },
    type: secretType,
    data: {
      [secretKeys.document]: encode(content.document),
      [secretKeys.revision]: encode(String(content.revision)),
      [secretKeys.sources]: encode(content.sources),
    },
  };
}

/** The mounted Secret of a revision, as the controller writes it. */
import { digestOf, saltLength } from "#pullsecret/merge/digest.ts";
import type { Intent } from "#contract/names.ts";

export type MountedSources = Readonly<{
  additional?: Readonly<Record<string, string>>;
  original?: Readonly<Record<string, string>>;
  /** Without one: `release`, if there is nothing additional. */
  intent?: Intent;
}>;

/**
 * The files of a revision in the mounted Secret. Its salt is its number: most tests have one
 * content for each.
 */
export function filesFor(
  revision: number,
  { additional = {}, original = {}, intent }: MountedSources,
) {
  const entries = { ...original, ...additional };
  const auths = Object.fromEntries(
    Object.entries(entries).map(([key, password]) => [key, { auth: encode(password) }]),
  );
  const sources = Object.fromEntries(
    Object.keys(entries).map((key) => [key, key in additional ? "additional" : "original"]),
  );
  return {
    ".dockerconfigjson": JSON.stringify({ auths }),
    revision: String(revision),
    salt: String(revision).padStart(saltLength, "0"),
    intent: intent ?? (Object.keys(additional).length > 0 ? "apply" : "release"),
    sources: JSON.stringify(sources),
  } as const;
}

/** What the template says of such a revision. */
export function digestFor(revision: number, content: MountedSources): string {
  const { salt, intent, sources, ".dockerconfigjson": document } = filesFor(revision, content);
  const bytes = (text: string) => Buffer.from(text);
  return digestOf({
    salt: bytes(salt),
    intent,
    sources: bytes(sources),
    document: bytes(document),
  });
}

export function encode(password: string): string {
  return Buffer.from(`user:${password}`).toString("base64");
}

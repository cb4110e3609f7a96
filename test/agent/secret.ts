/** global-pull-secret as the controller publishes it, for the words of the histories. */
import { nextFormer } from "#pullsecret/merge/former.ts";
import { formerKey, type PublishedMode, secretKeys } from "#contract/names.ts";
import {
  beside,
  digestFor,
  filesFor,
  type MountedSources,
  servedFilesFor,
} from "#test/harness/agent/mounted.ts";
import { type Entries, entryOf } from "./file.ts";

/** `original`: registries whose entry comes from the original pull secret. */
export type Content = Readonly<{
  revision: number;
  entries: Entries;
  original: ReadonlySet<string>;
  isRelease: boolean;
}>;

/** Newest and served content, and the key `former`. */
export type Secret = Readonly<{ newest: Content; served: Content | undefined; former: string }>;

function sourcesOf({ entries, original, isRelease }: Content): MountedSources {
  const from = (isOriginal: boolean) =>
    Object.fromEntries([...entries].filter(([key]) => original.has(key) === isOriginal));
  return {
    original: from(true),
    additional: from(false),
    intent: isRelease ? "release" : "apply",
  };
}

export function orderedDigest(content: Content): string {
  return digestFor(content.revision, sourcesOf(content));
}

const published = new WeakMap<Secret, Map<PublishedMode, Readonly<Record<string, string>>>>();

/** The Secret's data as the API server sends it. The same object for the same Secret. */
export function dataOf(secret: Secret, mode: PublishedMode): Readonly<Record<string, string>> {
  const byMode = published.get(secret) ?? new Map();
  published.set(secret, byMode);
  const { newest, served, former } = secret;
  const data =
    (byMode.get(mode) as Readonly<Record<string, string>> | undefined) ??
    encoded({
      ...beside,
      ...filesFor(newest.revision, sourcesOf(newest)),
      ...(served !== undefined &&
        servedFilesFor(
          served.revision,
          served.revision === newest.revision ? "same" : sourcesOf(served),
        )),
      [secretKeys.mode]: mode,
      [formerKey]: former,
    });
  byMode.set(mode, data);
  return data;
}

function encoded(files: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const entries = Object.entries(files);
  return Object.fromEntries(
    entries.map(([key, text]) => [key, Buffer.from(text).toString("base64")]),
  );
}

/** The key `former` after values have left, as the controller writes it. */
export function formerAfter(text: string, left: Entries, present: Entries): string {
  const values = (entries: Entries) =>
    [...entries].map(([key, word]) => ({ key, entry: JSON.stringify(entryOf(word)) }));
  return nextFormer(text, { left: values(left), present: values(present), salt: "salt" });
}

/**
 * Where the kubelet finds each entry: in config.json or in the credential provider's answer. Pure.
 *
 * The original's entries stay in config.json, and so do entries for which the kubelet would not run
 * our script. The kubelet tries config.json before it runs a provider. So we remove an entry from
 * config.json once the kubelet has run our script since this boot. Until then, config.json might be
 * the kubelet's only source of the credential.
 */
import type { ProviderScope } from "#contract/names.ts";
import { quote } from "#pullsecret/problems/keypath.ts";
import { answerOf, entriesOf, whyUnanswerable } from "#pullsecret/provider.ts";
import { imagesOf } from "#pullsecret/registry/key.ts";
import type { Content, Entry, Place } from "#agent/journal/journal.ts";
import { valueOf } from "../config-json/document.ts";
import type { FileIdentity } from "#agent/files/atomic-write.ts";

/** The provider's files as found. */
export type Installed = Readonly<{
  /**
   * The bytes of the answer; undefined if there is no answer, empty if we must write the answer
   * again.
   */
  answer: Buffer | undefined;
  /**
   * Why we cannot read the answer. `answer` is then undefined, but the kubelet might use the file.
   */
  unseen?: string;
  identity: FileIdentity;
  /** Why the kubelet cannot use the provider. */
  unfit?: string;
  /** The images for which the kubelet runs our script; empty if the kubelet cannot run it. */
  rows: readonly string[];
  /** The kubelet has run our script since this boot, so the kubelet's flags name the script. */
  asked: boolean;
}>;

/** The content with its places; without a scope all of it is in config.json. */
export function placed<C extends Content>(
  content: C,
  installed: Installed,
  scope: ProviderScope | undefined,
): C {
  const entries = content.entries.map((entry) => {
    const place = placeOf(entry, installed, scope);
    return place === entry.place ? entry : { ...entry, place };
  });
  const isSame = entries.every((entry, index) => entry === content.entries[index]);
  return isSame ? content : { ...content, entries };
}

function placeOf(
  entry: Entry,
  { rows, asked }: Installed,
  scope: ProviderScope | undefined,
): Place {
  if (scope === undefined || entry.original) return "file";
  // config.json serves all pods, which scope Annotated forbids.
  if (whyUnserved(entry, rows) !== undefined) return scope === "All" ? "file" : "beside";
  if (asked) return "answer";
  return scope === "All" ? "both" : "beside";
}

function whyUnserved({ key, raw }: Entry, rows: readonly string[]): string | undefined {
  return whyUnanswerable(key, valueOf(raw), rows);
}

/** Why the content cannot be served in this scope. In scope All, config.json serves the rest. */
export function unservable(
  { entries }: Content,
  { rows }: Installed,
  scope: ProviderScope | undefined,
): string | undefined {
  if (scope !== "Annotated") return undefined;
  for (const entry of entries) {
    const why = entry.original ? undefined : whyUnserved(entry, rows);
    if (why !== undefined) return `${quote(entry.key)}: ${why}`;
  }
  return undefined;
}

export const emptyAnswer = answerOf(new Map());

/**
 * The answer to write; undefined if it stays. The provider's answer has exactly our entries that it
 * serves. Without the provider, it loses what leaves, and what config.json has once the kubelet has
 * read our config.json.
 */
export function answerFor(
  { entries }: Content,
  { answer, unfit }: Installed,
  scope: ProviderScope | undefined,
  isRead: boolean,
): Buffer | undefined {
  const isServing = scope !== undefined && unfit === undefined;
  const serving = entries.filter(({ place }) => place !== "file" && place !== "hosts");
  if (answer === undefined && !(isServing && serving.length > 0)) return undefined;
  const bytes = isServing
    ? answerOf(new Map(serving.map(({ key, raw }) => [key, valueOf(raw)])))
    : staying(answer ?? emptyAnswer, isRead ? serving : entries);
  return answer?.equals(bytes) === true ? undefined : bytes;
}

function staying(answer: Buffer, entries: readonly Entry[]): Buffer {
  const images = new Set(entries.map(({ key }) => imagesOf(key)));
  return answerOf(new Map([...entriesOf(answer)].filter(([key]) => images.has(imagesOf(key)))));
}

/** The entries of the answer, which only we write. */
export function answered({ answer }: Installed): readonly Entry[] {
  return [...entriesOf(answer ?? emptyAnswer)].map(([key, value]) => ({
    key,
    raw: JSON.stringify(value),
    original: false,
    place: "both",
  }));
}

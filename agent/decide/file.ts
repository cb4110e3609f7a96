/**
 * Decides about config.json, in every phase: learns what other programs did, takes out what leaves,
 * and repairs a drift. None of this needs an order, a preflight or a restart. Pure.
 */
import { join } from "node:path";
import { nodeFiles } from "#contract/names.ts";
import { isFormer } from "#pullsecret/merge/former.ts";
import { imagesOf } from "#pullsecret/registry/key.ts";
import { areEquivalent, giveTheSame, isSameValue } from "../delivery/config-json/compare.ts";
import {
  emptyDocument,
  excess,
  type NodeDocument,
  plain,
  type RawJson,
  valueOf,
  withoutInvalid,
} from "../delivery/config-json/document.ts";
import { documentIn, isSameFile, learn, overlay } from "../delivery/config-json/overlay.ts";
import type { NodeFile } from "../delivery/config-json/config-json.ts";
import { type Contents, only } from "../delivery/contents.ts";
import { answerFor, placed as placedByProvider } from "../delivery/provider/places.ts";
import { canServe, changesFor, isMoved, placedAt } from "../delivery/runtime/plan.ts";
import type { Facts } from "../facts/facts.ts";
import { atOnce, type Beside, codes, record, soon, type Step, wait } from "../facts/step.ts";
import {
  type Content,
  type File,
  isNothing,
  type Journal,
  unreadablePrefix,
} from "../journal/journal.ts";
import { containsLeaving } from "../journal/leaving.ts";

/**
 * A file that is missing or unreadable counts only after this many milliseconds, because another
 * program might still be writing it.
 */
const settledAfter = 2000;

/** Whether config.json can be taken for what it is. `base`: the file that we left. */
export function isSettled({ file, unchangedFor }: Facts, base: File): boolean {
  if (unchangedFor >= settledAfter || file.kind !== "file") return true;
  if (isSameFile(file.file, base)) return true;
  return file.unreadable === undefined && !("absent" in file.file && !("absent" in base));
}

/** The journal as it should be: with what other programs did, without what leaves. */
export function nextJournal(facts: Facts, journal: Journal): Journal {
  const { file } = facts;
  if (file.kind !== "file") return journal;
  const isOurs = ownership(facts.contents, journal.content);
  const theirs = learn(journal.theirs, journal.content, file.file, isOurs);
  const next = leaving(facts, journal);
  const content = placed(facts, next.content, theirs);
  const hosts = hostsOf(facts, journal, content);
  const isSame = theirs === journal.theirs && content === journal.content && next === journal;
  return isSame && hosts === journal.hosts ? journal : { ...next, theirs, content, hosts };
}

/** The directory that the journal names, because files in it will have lines of ours. */
export function hostsOf({ runtime }: Facts, { hosts }: Journal, content: Content): string {
  return isMoved(content) && runtime !== undefined ? runtime.path : hosts;
}

/** The content with the place of each entry in this mode. `isNew`: the node takes it now. */
export function placed<C extends Content>(
  { installed, runtime, config }: Facts,
  content: C,
  theirs: File,
  isNew = false,
): C {
  if (canServe(runtime, config.isRuntime) && (isNew || isMoved(content)))
    return placedAt(content, runtime, theirs);
  return placedByProvider(content, installed, config.scope);
}

/** Takes out the keys that the newest content no longer has. A changed value is not a removal. */
export function leaving({ contents }: Facts, journal: Journal): Journal {
  if (contents.kind !== "contents") return journal;
  const { newest } = contents;
  if (!newest.isRelease && newest.revision <= journal.content.revision) return journal;
  const remaining = (content: Content): Content => {
    if (!newest.isRelease) return only(content, newest);
    return isNothing(content) ? content : { ...content, entries: [], rest: [] };
  };
  const content = remaining(journal.content);
  const back = journal.phase === "restarting" ? remaining(journal.back) : undefined;
  const isSame =
    content === journal.content && (journal.phase !== "restarting" || back === journal.back);
  if (isSame) return journal;
  return journal.phase === "restarting" && back !== undefined
    ? { ...journal, content, back }
    : { ...journal, content };
}

export function isReleased(contents: Contents): boolean {
  return contents.kind === "contents" && contents.newest.isRelease;
}

/**
 * Whether an entry is ours: we publish its value for these images, or ever did. The original's
 * entries do not count.
 */
export function ownership(
  contents: Contents,
  content?: Content,
): (key: string, value: RawJson) => boolean {
  const published = contents.kind === "contents" ? [contents.newest, contents.served] : [];
  const present = [...published, content].flatMap((shown) =>
    (shown?.entries ?? []).filter(({ original }) => !original),
  );
  const byImages = Map.groupBy(present, ({ key }) => imagesOf(key));
  return (key, value) => {
    const entry = JSON.stringify(plain(value));
    if (contents.kind === "contents" && isFormer(contents.former, { key, entry })) return true;
    const same = byImages.get(imagesOf(key)) ?? [];
    return same.some(({ raw }) => isSameValue(plain(valueOf(raw)), plain(value)));
  };
}

/**
 * The step that makes config.json the overlay of the journal; undefined if it is, and the journal
 * on the disk describes it, or may be written later. `next`: the journal as it should be.
 */
export function fileStep(facts: Facts, journal: Journal, next: Journal): Step | undefined {
  const { file, writeIn } = facts;
  if (file.kind !== "file") return undefined;
  const target = overlay(next.theirs, next.content);
  if (isRight(file.file, target, next.content)) {
    // What another program wrote stays in the file, so a later round learns the same.
    const isInFile = "bytes" in file.file && isOnlyLearned(facts, journal, next);
    const mayWait = isInFile && writeIn > 0;
    return next === journal || mayWait ? undefined : record(codes.learned, next, journal);
  }
  const isDrift = next.content === journal.content;
  const code = isDrift ? codes.drifted : codes.toBeWritten;
  if (isDrift && writeIn > 0) {
    // A removed file takes with it what ours hides. A new file would not show that.
    const isNews = "absent" in file.file && next !== journal;
    return isNews ? record(codes.learned, next, journal) : wait(code, writeIn);
  }
  const much = excessOf(target);
  if (much !== undefined) return wait(codes.unsafe, soon, `it would have ${much}`);
  const written = { ...next, written: writtenFor(facts, file.file, target, next) };
  const kept = bytesToKeep(file, journal, next);
  const where = `${file.unreadable}; ${join(nodeFiles.folder, `${unreadablePrefix}…`)}`;
  return atOnce({
    action: "commit",
    code: kept === undefined ? code : codes.unreadableKept,
    ...(kept !== undefined && { detail: where }),
    ...besideBefore(facts, next.content),
    commit: {
      journal: written,
      former: journal,
      file: target,
      expected: file.identity,
      unreadable: kept,
    },
  });
}

/**
 * The bytes of a file that nobody can read, which are kept; undefined if a credential that leaves
 * is in them.
 */
export function bytesToKeep(
  { file, unreadable }: Extract<NodeFile, { kind: "file" }>,
  former: Journal,
  next: Journal,
): Buffer | undefined {
  if (unreadable === undefined || "absent" in file) return undefined;
  return containsLeaving(file.bytes, former, next) ? undefined : file.bytes;
}

/** Whether the journals differ only in what other programs did. */
function isOnlyLearned(facts: Facts, journal: Journal, next: Journal): boolean {
  return next.content === journal.content && leaving(facts, journal) === journal;
}

/**
 * What to write before config.json, so that an entry that moves is always in at least one of the
 * places. Without the provider and mode Runtime, nothing moves out of config.json.
 */
export function besideBefore({ installed, runtime, config }: Facts, content: Content): Beside {
  if (canServe(runtime, config.isRuntime)) {
    // What only leaves must not keep config.json from being written.
    const hosts = changesFor(content, runtime, config.isRuntime, false).filter(
      ({ isRemoval }) => !isRemoval,
    );
    return hosts.length === 0 ? {} : { hosts };
  }
  if (config.scope === undefined || installed.unfit !== undefined) return {};
  const bytes = answerFor(content, installed, config.scope, false);
  return bytes === undefined ? {} : { answer: { bytes, expected: installed.identity } };
}

/** Meaning counts, not bytes; without ours, every byte counts. */
export function isRight(file: File, target: File, content: Content): boolean {
  if (isSameFile(file, target)) return true;
  if (isNothing(content) || "absent" in file || "absent" in target) return false;
  const [is, must] = [documentIn(file), documentIn(target)];
  if (is === undefined || must === undefined) return false;
  return file.mode === target.mode && areEquivalent(is, must);
}

export function excessOf(file: File): string | undefined {
  return "absent" in file ? undefined : excess(file.bytes);
}

/**
 * The last write that the kubelet has to read: this one, if it adds or changes an entry that only
 * config.json has, or takes out one that hosts.toml has. containerd prefers what the kubelet sends.
 */
export function writtenFor(
  { time }: Pick<Facts, "time">,
  file: File,
  target: File,
  { content, written }: Pick<Journal, "content" | "written">,
): Journal["written"] {
  const [is, must] = [asKubelet(file), asKubelet(target)];
  const answered = new Set(
    content.entries.flatMap(({ key, place }) => (place === "both" ? [key] : [])),
  );
  const puts = [...must.auths].some(
    ([key, value]) => !answered.has(key) && !isSameValue(is.auths.get(key), value),
  );
  const moved = new Set(
    content.entries.flatMap(({ key, place }) => (place === "hosts" ? [imagesOf(key)] : [])),
  );
  const takes = [...is.auths.keys()].some(
    (key) => moved.has(imagesOf(key)) && !must.auths.has(key),
  );
  return puts || takes ? time : written;
}

/** Whether the kubelet takes the same credentials from both files. */
export function isSameForKubelet(file: File, other: File): boolean {
  return giveTheSame(asKubelet(file), asKubelet(other));
}

/** What the kubelet reads: nothing, if a part of the file is invalid. */
function asKubelet(file: File): NodeDocument {
  const document = documentIn(file) ?? emptyDocument;
  const valid = withoutInvalid(document);
  const isWhole =
    valid.auths.size === document.auths.size && valid.rest.size === document.rest.size;
  return isWhole ? document : emptyDocument;
}

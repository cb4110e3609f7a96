/** Decides on a node without a journal. Pure. */
import { imagesOf } from "#pullsecret/registry/key.ts";
import { type NodeDocument, writeDocument } from "../delivery/config-json/document.ts";
import { documentIn, learn } from "../delivery/config-json/overlay.ts";
import { answered, emptyAnswer } from "../delivery/provider/places.ts";
import { changesFor, entriesIn, unremovable } from "../delivery/runtime/plan.ts";
import type { Facts } from "../facts/facts.ts";
import { contentFor } from "../facts/order.ts";
import {
  type Entry,
  type File,
  firstJournal,
  noContent,
  type Resting,
} from "../journal/journal.ts";
import {
  type Answer,
  atOnce,
  codes,
  fast,
  record,
  refuse,
  resync,
  soon,
  type Step,
  wait,
} from "../facts/step.ts";
import { change, preflight, whyNoContent } from "./change.ts";
import { hostsOf, isReleased, isSettled, ownership } from "./file.ts";

/**
 * The folder was lost, another program restored an old copy of config.json, or the node is new.
 * What is ours in the files is recognised by its value. Without an order, a new node takes the
 * served content; if nothing is served, it records that it takes nothing unasked.
 */
export function firstContact(facts: Facts): Answer {
  const { file, contents } = facts;
  const isGone = isReleased(contents);
  if (file.kind === "changing") return wait(codes.changedMeanwhile, fast);
  if (file.kind === "refused")
    return (isGone && emptied(facts)) || refuse(codes.unsafe, soon, file.why);
  if (!isSettled(facts, { absent: true })) return wait(codes.unreadable, 500, file.unreadable);
  const { theirs } = facts;
  if (file.unreadable !== undefined && theirs !== undefined && "bytes" in file.file)
    return putBack({ bytes: theirs, mode: file.file.mode }, file.identity);
  const left = leftBehind(facts, file.file);
  if (left !== undefined) return record(codes.foundOurs, left, undefined);
  if (isGone) return withdrawn(facts);
  const first = firstJournal(file.file);
  // The file is theirs. If it is damaged later, what the lost journal left must not replace it.
  if (theirs !== undefined && typeof facts.order !== "string")
    return record(codes.learned, first, undefined);
  const content = contentFor(facts.order, contents);
  if (content !== undefined) return change(facts, first, file, content);
  if (typeof facts.order !== "string" || contents.kind !== "contents")
    return whyNoContent(facts) ?? wait(codes.otherRevision, soon);
  return preflight(facts) ?? record(codes.fit, first, undefined);
}

/**
 * Puts the last readable entries back. The unreadable bytes are not kept, because nobody knows
 * which credentials of ours they contain.
 */
function putBack(theirs: File, expected: string): Step {
  const journal = firstJournal(theirs);
  const commit = { journal, former: undefined, file: theirs, expected, unreadable: undefined };
  return atOnce({ action: "commit", code: codes.toBeWritten, commit });
}

/**
 * A journal for what is ours in config.json, the provider's answer, and containerd's files;
 * undefined if nothing is.
 */
function leftBehind(facts: Facts, file: File): Resting | undefined {
  const isOurs = ownership(facts.contents);
  const document = documentIn(file);
  const auths = [...(document?.auths ?? [])];
  const inFile = auths.filter(([key, value]) => isOurs(key, value));
  const found: readonly Entry[] = inFile.map(([key, value]) => ({
    key,
    raw: JSON.stringify(value),
    original: false,
    place: "file",
  }));
  const isServing = facts.config.scope !== undefined && !isReleased(facts.contents);
  const beside = [
    ...(isServing ? answered(facts.installed) : []),
    ...(isReleased(facts.contents) ? [] : entriesIn(facts.runtime)),
  ];
  const entries = [
    ...found,
    ...beside.filter(({ key }) => !found.some((entry) => entry.key === key)),
  ];
  if (entries.length === 0) return undefined;
  const others = new Map(auths.filter(([key, value]) => !isOurs(key, value)));
  const visible =
    found.length === 0 || document === undefined
      ? file
      : withoutOurs(file, { ...document, auths: others });
  // A restart might have been due.
  const content = { ...noContent, entries: placesOf(entries, found, others) };
  // The file of a lost journal also has what ours hides.
  const theirs =
    facts.theirs === undefined || "absent" in file
      ? visible
      : learn({ bytes: facts.theirs, mode: file.mode }, content, file, isOurs);
  const first = firstJournal(theirs);
  return { ...first, content, written: facts.time, hosts: hostsOf(facts, first, content) };
}

/** Entries that only the answer has stay there, until the next round places them. */
function placesOf(
  entries: readonly Entry[],
  found: readonly Entry[],
  others: ReadonlyMap<string, unknown>,
): Entry[] {
  const ours = new Set(found.map(({ key }) => imagesOf(key)));
  const theirs = new Set(Array.from(others.keys(), imagesOf));
  return entries.map((entry) => {
    const images = imagesOf(entry.key);
    if (ours.has(images) || entry.place === "hosts") return entry;
    return { ...entry, place: theirs.has(images) ? "beside" : "answer" };
  });
}

function withoutOurs(file: File, document: NodeDocument): File {
  if ("absent" in file || document.auths.size + document.rest.size === 0) return { absent: true };
  return { bytes: writeDocument(document, file.bytes), mode: file.mode };
}

/**
 * Nothing of ours is in config.json, and without a journal an answer that we cannot look for is not
 * ours. Removes what an interrupted withdrawal left behind.
 */
function withdrawn(facts: Facts): Step {
  const { leftovers, elsewhere } = facts;
  const emptying = emptied(facts);
  if (emptying !== undefined) return emptying;
  const stays = unremovable(facts.runtime);
  if (stays !== undefined) return wait(codes.unsafe, soon, stays);
  if (leftovers) return atOnce({ action: "leave", code: codes.withdrawn });
  // The kubelet uses another directory, which might still have our entries.
  if (elsewhere !== undefined) return wait(codes.elsewhere, resync, elsewhere);
  return { action: "nothing", code: codes.withdrawn, result: "Removed", again: resync };
}

/** Empties the provider's answer and containerd's files; undefined if they have nothing of ours. */
function emptied({ installed, runtime, config }: Facts): Step | undefined {
  const { answer, identity } = installed;
  const code = codes.toBeWritten;
  if (answer !== undefined && !answer.equals(emptyAnswer)) {
    const empty = { bytes: emptyAnswer, expected: identity };
    return atOnce({ action: "answer", code, answer: empty });
  }
  const hosts = changesFor(noContent, runtime, config.isRuntime, true);
  return hosts.length === 0 ? undefined : atOnce({ action: "hosts", code, hosts });
}

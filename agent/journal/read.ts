/**
 * Reads a journal from the disk. Refuses a journal that is incomplete, or whose files are missing.
 * The agent loads this module only if there is a journal, because building the schema takes 10 ms
 * of a start.
 */
import * as z from "zod/mini";
import { isKubelet } from "../systemd/distributions.ts";
import { digestOf, type File, type JournalReading, previousPrefix, version } from "./journal.ts";
import { type Journal, journal, type stored } from "./schema.ts";

const head = z.looseObject({
  version: z.number(),
  reads: z.number(),
  phase: z.optional(z.unknown()),
  unit: z.optional(z.unknown()),
});

/** Phases in which we might have stopped the kubelet. */
const owingPhases: ReadonlySet<unknown> = new Set([
  "restarting",
  "settling",
  "restoring",
  "reviving",
]);

/** The bytes of a file beside the journal; undefined if there is none. */
type Open = (name: string) => Buffer | undefined;

/**
 * Reads a journal, and through `open` the files that the journal names. A newer journal is accepted
 * if it allows our version to continue from it.
 */
export function readJournal(bytes: Buffer, open: Open): JournalReading {
  let value: object;
  try {
    value = JSON.parse(bytes.toString());
  } catch {
    return { kind: "corrupt", why: "not JSON" };
  }
  const first = z.safeParse(head, value);
  if (!first.success) return { kind: "corrupt", why: "no version" };
  const { version: writer, reads, phase, unit } = first.data;
  if (reads > version)
    return {
      kind: "newer",
      why: `version ${writer}`,
      owes: owingPhases.has(phase),
      ...(isKubelet(unit) && { unit }),
    };
  const whole = z.safeParse(journal, value);
  if (!whole.success)
    return {
      kind: "corrupt",
      why: `invalid at ${whole.error.issues[0]?.path.join(".") || "the top"}`,
    };
  const { before, undo } = whole.data;
  const [was, back] = [before, undo?.file].map((file) => file && loadFile(file, open));
  if (was === undefined || (undo !== undefined && back === undefined))
    return { kind: "corrupt", why: "a file with previous bytes is missing" };
  const parsed = value as Journal;
  const restored = parsed.undo && back && { undo: { ...parsed.undo, file: back } };
  const ours = { version: Math.max(writer, version), reads: version, before: was, ...restored };
  return { kind: "journal", journal: { ...parsed, ...ours } };
}

function loadFile(file: z.infer<typeof stored>, open: Open): File | undefined {
  if ("absent" in file) return file;
  const bytes = open(previousPrefix + file.digest);
  return bytes && digestOf(bytes) === file.digest ? { bytes, mode: file.mode } : undefined;
}

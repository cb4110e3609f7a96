/**
 * Reads a journal from the disk. Refuses a journal that is incomplete, or whose file is missing.
 * The agent loads this module only if there is a journal, because building the schema takes 10 ms
 * of a start.
 */
import * as z from "zod/mini";
import { isRevision } from "#contract/order.ts";
import {
  digestOf,
  type Journal,
  type JournalReading,
  places,
  theirsPrefix,
  version,
} from "./journal.ts";

/**
 * The agent writes this text back into the file unchanged. A damaged text would break every later
 * round.
 */
const raw = z.string().check(z.refine(isJson));
/** An invalid revision means a damaged journal. No order could ever exceed it. */
const revision = z.number().check(z.refine(isRevision));
const entry = z.object({
  key: z.string(),
  raw,
  original: z.boolean(),
  place: z.enum(places),
});
const content = z.object({
  revision,
  digest: z.string(),
  entries: z.array(entry),
  rest: z.array(z.object({ key: z.string(), raw })),
});
const time = z.object({ boot: z.string(), monotonic: z.number() });
const kept = {
  version: z.literal(version),
  theirs: z.union([
    z.object({ absent: z.literal(true) }),
    z.object({ digest: z.string().check(z.regex(/^[\w-]{43}$/)), mode: z.number() }),
  ]),
  content,
  written: time,
  hosts: z.string(),
};
const started = { unit: z.string(), asked: time };
const schema = z.discriminatedUnion("phase", [
  z.object({ ...kept, phase: z.literal("resting"), failed: z.string() }),
  z.object({
    ...kept,
    ...started,
    phase: z.literal("restarting"),
    order: z.string(),
    back: content,
    old: z.string(),
    deaths: z.number(),
    restarts: z.number(),
  }),
  z.object({
    ...kept,
    ...started,
    phase: z.literal("reviving"),
    failed: z.string(),
    tries: z.number(),
  }),
]);

/** The bytes of a file beside the journal; undefined if there is none. */
type Open = (name: string) => Buffer | undefined;

/** Reads a journal, and through `open` the file of the other programs. */
export function readJournal(bytes: Buffer, open: Open): JournalReading {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString());
  } catch {
    return { kind: "corrupt", why: "not JSON" };
  }
  const other = versionOf(value);
  if (other !== version)
    return typeof other === "number"
      ? { kind: "other version", why: `version ${other}` }
      : { kind: "corrupt", why: "no version" };
  const parsed = z.safeParse(schema, value);
  if (!parsed.success)
    return {
      kind: "corrupt",
      why: `invalid at ${parsed.error.issues[0]?.path.join(".") || "the top"}`,
    };
  const { theirs } = parsed.data;
  if ("absent" in theirs) return { kind: "journal", journal: { ...parsed.data, theirs } };
  const file = open(theirsPrefix + theirs.digest);
  if (file === undefined || digestOf(file) !== theirs.digest)
    return { kind: "corrupt", why: "the file with the other programs' bytes is missing" };
  const journal: Journal = { ...parsed.data, theirs: { bytes: file, mode: theirs.mode } };
  return { kind: "journal", journal };
}

function versionOf(value: unknown): unknown {
  return typeof value === "object" && value !== null && "version" in value
    ? value.version
    : undefined;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * The gate through which a journal comes back from the disk. Loaded only where there is one: building the schema costs
 * 10 ms of a start. The gate only judges; what it lets through is the value as it was written.
 */
import * as z from "zod/mini";
import { isKubelet } from "./distributions.ts";
import { type JournalReading, version } from "./journal.ts";

// A schema compiled into a function would not pay within one agent's change.
z.config({ jitless: true });

const bytesOrAbsent = z.union([
  z.object({ absent: z.literal(true) }),
  z.object({ bytes: z.string(), mode: z.number(), uid: z.number(), gid: z.number() }),
]);

/** Put back into the file as it is: damaged, it would stop every later look. */
const raw = z.string().check(z.refine(isJson));
const own = z.object({
  key: z.string(),
  wrote: z.array(z.string()),
  displaced: z.array(z.object({ key: z.string(), raw })),
});
const owned = z.object({ entries: z.array(own), rest: z.array(own) });

const record = z.looseObject({
  version: z.number(),
  /** The oldest version whose reader may go on from this record. */
  reads: z.number(),
  /**
   * applying: config.json is being replaced · restarting: it is in place, a restart is owed · settling: the new process
   * answers and is watched · applied: at rest · restoring: the previous file is being put back · reviving: it is back,
   * the kubelet is restarted with it.
   */
  phase: z.enum(["applying", "restarting", "settling", "applied", "restoring", "reviving"]),
  /** The revision that is in force, or on its way. */
  revision: z.number(),
  /** Salted digest that the pod's template gave for it; absent in journals of agents that knew none. */
  digest: z.optional(z.string()),
  /** Digest of the mounted content that belongs to it. */
  content: z.string(),
  /** The file before we ever touched it. */
  before: bytesOrAbsent,
  owned,
  /** Whether the kubelet would see other credentials than before: only then a restart is owed. */
  matters: z.boolean(),
  /** Where a rollback goes: the last state that the kubelet was proved to run with. Absent: there is none to go to. */
  undo: z.optional(
    z.object({ file: bytesOrAbsent, owned, revision: z.number(), content: z.string(), digest: z.optional(z.string()) }),
  ),
  /** The kubelet's unit when the change began: while that is down none is active, and it must not be looked for anew. */
  unit: z.optional(z.string()),
  /** The kubelet's InvocationID when the file was in place: a process with another one was started after it. */
  owed: z.optional(z.string()),
  /** Attempts to restart that count, this change. */
  tried: z.number(),
  /** Whether the last attempt was ours; false: systemd brought the process back by itself. */
  called: z.boolean(),
  /** Process that is being watched. */
  settling: z.optional(
    z.object({
      invocation: z.string(),
      restarts: z.number(),
      /** How often somebody else has put another process in its place, in this trial. */
      replaced: z.optional(z.number()),
    }),
  ),
  /** Policy Never: when the file was in place, by the clock of that boot. */
  renamed: z.optional(z.object({ boot: z.string(), monotonic: z.number() })),
  /** Mode and owner of config.json as we left it; absent if we left none. */
  left: z.optional(z.object({ mode: z.number(), uid: z.number(), gid: z.number() })),
  /**
   * Made after an earlier journal was lost, on a node that may hold more of ours than this one
   * knows of.
   */
  unverified: z.optional(z.boolean()),
  /** Wall-clock milliseconds of the restarts that we asked for, the last 16. */
  calls: z.array(z.number()),
  quarantine: z.optional(
    z.object({
      revision: z.number(),
      content: z.string(),
      failures: z.number(),
      since: z.number(),
      lasts: z.number(),
      told: z.boolean(),
    }),
  ),
});

export type Record = z.infer<typeof record>;

const head = z.looseObject({
  version: z.number(),
  reads: z.number(),
  phase: z.optional(z.unknown()),
  unit: z.optional(z.unknown()),
});

/** Phases in which the kubelet may be down because of us. */
const owing: ReadonlySet<unknown> = new Set(["restarting", "settling", "restoring", "reviving"]);

/**
 * One JSON object with one member a line, or all of them on one. JSON has no line break within a string, so each line can be
 * parsed for itself. Throws where it cannot.
 */
function parseLines(bytes: Buffer): unknown {
  const members: [string, unknown][] = [];
  let begin = 1;
  if (bytes.at(0) !== code("{") || bytes.at(-1) !== code("}")) throw new SyntaxError("not an object");
  while (begin < bytes.length) {
    const found = bytes.indexOf("\n", begin);
    const end = found < 0 ? bytes.length : found;
    if (found >= 0 && bytes.at(end - 1) !== code(",")) throw new SyntaxError("not one member a line");
    members.push(...Object.entries<unknown>(JSON.parse(`{${bytes.toString("utf8", begin, end - 1)}}`)));
    begin = end + 1;
  }
  return Object.fromEntries(members);
}

function code(sign: string): number {
  return sign.charCodeAt(0);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Reads a journal's bytes. A newer one is understood as long as its writer says that version 1 may go on from it. */
export function readJournal(bytes: Buffer): JournalReading {
  let value: unknown;
  try {
    value = parseLines(bytes);
  } catch {
    return { kind: "corrupt", why: "not JSON" };
  }
  const first = z.safeParse(head, value);
  if (!first.success) return { kind: "corrupt", why: "no version" };
  const { version: writer, reads, phase, unit } = first.data;
  if (reads > version)
    return { kind: "newer", why: `version ${writer}`, owes: owing.has(phase), ...(isKubelet(unit) && { unit }) };
  const whole = z.safeParse(record, value);
  if (whole.success) return { kind: "journal", journal: value as Record };
  return { kind: "corrupt", why: `wrong at ${whole.error.issues[0]?.path.join(".") || "the top"}` };
}

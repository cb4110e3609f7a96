/** What a journal says, field by field, and how a file stands in one. */
import * as z from "zod/mini";
import { isRevision } from "#contract/grant.ts";

/** config.json as it is put in place: off V8's heap, which is small. */
export type File = Readonly<{ absent: true }> | Readonly<{ bytes: Buffer; mode: number }>;

// A schema compiled into a function would not pay within one agent's change.
z.config({ jitless: true });

const absent = z.object({ absent: z.literal(true) });
const base64 = z.object({ bytes: z.string(), mode: z.number() });
const named = z.object({ digest: z.string().check(z.regex(/^[\w-]{43}$/)), mode: z.number() });
/**
 * A file as the journal has it: by the digest of its bytes; in version 1 with the bytes themselves.
 */
export const stored = z.union([absent, named, base64]);

/** Put back into the file as it is: damaged, it would stop every later look. */
const raw = z.string().check(z.refine(isJson));
/** A number that is no revision is damage: no grant could ever be above it. */
const revision = z.number().check(z.refine(isRevision));
const list = <T extends z.ZodMiniType>(one: T) => z.readonly(z.array(one));
const own = z.object({
  key: z.string(),
  /** Digests of the values that we put there, oldest first. */
  wrote: list(z.string()),
  /** What was in our place before, as JSON text, under its own key. */
  displaced: list(z.object({ key: z.string(), raw })),
  /** We keep the place empty: the credential provider serves this registry. */
  vacant: z.optional(z.literal(true)),
});
/** Digests of what we wrote for a registry and took back since, oldest first. */
const former = z.object({ key: z.string(), wrote: list(z.string()) });
const owned = z.object({
  entries: list(own),
  rest: list(own),
  /** Kept until our folder goes, because other programs write old copies back. */
  former: z.optional(list(former)),
  /** Digest of the credential provider's answer; absent where we gave none. */
  answer: z.optional(z.string()),
});

/** What of the node is ours. */
export type Owned = Readonly<z.infer<typeof owned>>;

const journalWith = <F extends z.ZodMiniType>(file: F) =>
  z.looseObject({
    version: z.number(),
    /** The oldest version whose reader may go on from this record. */
    reads: z.number(),
    /**
     * applying: config.json is being replaced · restarting: it is in place, a restart is owed ·
     * settling: the new process is on probation · applied: nothing is owed · restoring: the
     * previous file is being put back · reviving: it is back, the kubelet is restarted with it. The
     * words are in the journals that nodes hold, so none is ever changed.
     */
    phase: z.enum(["applying", "restarting", "settling", "applied", "restoring", "reviving"]),
    /** The revision that is in force, or on its way. */
    revision,
    /**
     * Salted digest that the pod's grant gave for it; absent in journals of agents that knew none.
     */
    digest: z.optional(z.string()),
    /** Digest of the mounted content that belongs to it. */
    content: z.string(),
    /** The file before we ever touched it. */
    before: file,
    owned,
    /** Whether the kubelet would see other credentials than before: only then a restart is owed. */
    matters: z.boolean(),
    /**
     * Where a rollback goes: the last state that the kubelet was proved to run with. Absent: there
     * is none to go to.
     */
    undo: z.optional(
      z.object({
        file,
        owned,
        revision,
        content: z.string(),
        digest: z.optional(z.string()),
      }),
    ),
    /**
     * The kubelet's unit when the change began: while that is down none is active, and it must not
     * be looked for anew.
     */
    unit: z.optional(z.string()),
    /**
     * The kubelet's InvocationID when the file was in place: a process with another one was started
     * after it.
     */
    owed: z.optional(z.string()),
    /** Attempts to restart that count, this change. */
    tried: z.number(),
    /** How often systemd refused the restart of this change, and with which error. */
    denied: z.optional(z.object({ times: z.number(), why: z.string() })),
    /** Whether the last attempt was ours; false: systemd brought the process back by itself. */
    called: z.boolean(),
    /** The process on probation. */
    settling: z.optional(
      z.object({
        invocation: z.string(),
        restarts: z.number(),
        /** How often somebody else has put another process in its place, in this probation. */
        replaced: z.optional(z.number()),
      }),
    ),
    /**
     * A drift was repaired without a restart. This process may go on with what it has read until it
     * reads the file again: the kubelet's InvocationID, or empty while it is not known.
     */
    rereads: z.optional(z.string()),
    /** When a file that is to be reread was in place, by the clock of that boot. */
    renamed: z.optional(z.object({ boot: z.string(), monotonic: z.number() })),
    /** Key of the grant that the change was begun for; absent for any other. */
    grant: z.optional(z.string()),
    /**
     * Mode of config.json as we left it; absent if we left none. `was`: the mode that others could
     * read it with, to be restored.
     */
    left: z.optional(z.object({ mode: z.number(), was: z.optional(z.number()) })),
    /**
     * Made after an earlier journal was lost, on a node that may hold more of ours than this one
     * knows of.
     */
    unverified: z.optional(z.boolean()),
    /** Wall-clock milliseconds of the restarts that we asked for, the last 16. */
    calls: z.array(z.number()),
    quarantine: z.optional(
      z.object({
        revision,
        content: z.string(),
        failures: z.number(),
        since: z.number(),
        lasts: z.number(),
        told: z.boolean(),
        /** Why systemd would not restart the kubelet; absent where the kubelet failed. */
        why: z.optional(z.string()),
        /** Key of the grant that failed: only another grant tries again. */
        grant: z.optional(z.string()),
      }),
    ),
  });

export const journal = journalWith(stored);

/** A journal with the bytes of its files. */
export type Journal = z.infer<ReturnType<typeof journalWith<z.ZodMiniType<File>>>>;

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

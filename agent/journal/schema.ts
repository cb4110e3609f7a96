/** The fields of a journal, and how a file is stored in it. */
import * as z from "zod/mini";
import { isRevision } from "#contract/order.ts";

/** A config.json to put in place. Its bytes are outside V8's heap, which is small. */
export type File = Readonly<{ absent: true }> | Readonly<{ bytes: Buffer; mode: number }>;

const absent = z.object({ absent: z.literal(true) });
const named = z.object({ digest: z.string().check(z.regex(/^[\w-]{43}$/)), mode: z.number() });
/** A file in the journal: the digest of its bytes. */
export const stored = z.union([absent, named]);

/**
 * The agent writes this text back into the file unchanged. A damaged text would break every later
 * round.
 */
const raw = z.string().check(z.refine(isJson));
/**
 * An invalid revision means a damaged journal. If the revision were too large, no order could ever
 * exceed it.
 */
const revision = z.number().check(z.refine(isRevision));
const list = <T extends z.ZodMiniType>(element: T) => z.readonly(z.array(element));
const own = z.object({
  key: z.string(),
  /** Digests of the values that we wrote, oldest first. */
  wrote: list(z.string()),
  /** The values that our entry replaced, as JSON text, each with its own key. */
  displaced: list(z.object({ key: z.string(), raw })),
  /**
   * config.json must have no entry for this registry, which the credential provider serves.
   */
  vacant: z.optional(z.literal(true)),
});
/** Digests of values that we wrote for a registry and have since removed, oldest first. */
const former = z.object({ key: z.string(), wrote: list(z.string()) });
const owned = z.object({
  entries: list(own),
  rest: list(own),
  /** Kept until our folder is removed: other programs can restore old copies of config.json. */
  former: z.optional(list(former)),
  /** Digest of the credential provider's answer; absent if we wrote none. */
  answer: z.optional(z.string()),
});

/** Our entries on the node. */
export type Owned = Readonly<z.infer<typeof owned>>;

const journalWith = <F extends z.ZodMiniType>(file: F) =>
  z.looseObject({
    version: z.number(),
    /**
     * Only agents that can read journals of this version are allowed to continue from this journal.
     */
    reads: z.number(),
    /**
     * applying: config.json is being replaced · restarting: the file is in place, and a restart is
     * due · settling: the new process is on probation · applied: no restart is due · restoring: the
     * previous file is being restored · reviving: that file is in place, and the kubelet is being
     * restarted with it. Nodes have journals with these words, so never change a word.
     */
    phase: z.enum(["applying", "restarting", "settling", "applied", "restoring", "reviving"]),
    /** The revision in force, or under way. */
    revision,
    /** The salted digest of the mounted content; absent in a journal without content. */
    digest: z.optional(z.string()),
    /** Digest of the mounted content of this revision. */
    content: z.string(),
    /** The file before our first change. */
    before: file,
    owned,
    /** Whether the kubelet would get other credentials than before. Only then is a restart due. */
    matters: z.boolean(),
    /**
     * The state that a rollback restores: the last state in which the kubelet passed its probation.
     * Absent if there is none.
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
     * The kubelet's unit when the change began. While this unit is down, the agent must not choose
     * another unit.
     */
    unit: z.optional(z.string()),
    /**
     * The kubelet's InvocationID when the file was in place. A process with another ID was started
     * later.
     */
    owed: z.optional(z.string()),
    /**
     * Restart attempts of this change, by us or by systemd. A request that was not sent, or that
     * systemd refused, does not count.
     */
    tried: z.number(),
    /** How often systemd refused the restart of this change, and with which error. */
    denied: z.optional(z.object({ times: z.number(), why: z.string() })),
    /** Whether the last attempt was ours; false if systemd restarted the process by itself. */
    called: z.boolean(),
    /** The process on probation. */
    settling: z.optional(
      z.object({
        invocation: z.string(),
        restarts: z.number(),
        /** How often the process was replaced during this probation, but not by us. */
        replaced: z.optional(z.number()),
      }),
    ),
    /**
     * Set after the agent changed the file without a restart, for example to repair a drift. The
     * kubelet's process with this InvocationID might use the old file until it rereads the file.
     * Empty while the ID is unknown.
     */
    rereads: z.optional(z.string()),
    /**
     * When the file that the kubelet must reread was put in place: the boot, and the time since
     * that boot.
     */
    renamed: z.optional(z.object({ boot: z.string(), monotonic: z.number() })),
    /** Key of the order for which the change began; absent if there was none. */
    grant: z.optional(z.string()),
    /**
     * The file mode in which we left config.json; absent if we left no file. `was`: the mode to
     * restore, which let other users read the file.
     */
    left: z.optional(z.object({ mode: z.number(), was: z.optional(z.number()) })),
    /**
     * This journal was created after an earlier journal was lost. The node might have more of our
     * entries than this journal lists.
     */
    unverified: z.optional(z.boolean()),
    /** Wall-clock times, in milliseconds, of the last 16 restarts that we requested. */
    calls: z.array(z.number()),
    quarantine: z.optional(
      z.object({
        revision,
        digest: z.optional(z.string()),
        content: z.string(),
        failures: z.number(),
        since: z.number(),
        lasts: z.number(),
        told: z.boolean(),
        /** Why systemd refused to restart the kubelet; absent if the kubelet failed. */
        why: z.optional(z.string()),
        /** Key of the order that failed. Only a new order starts another attempt. */
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

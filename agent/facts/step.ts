/** What a decision may answer. */
import type { WordKind } from "#contract/word.ts";
import type { Journal } from "../journal/journal.ts";
import type { FoundFile, Plan, Rewrite } from "../delivery/delivery.ts";
import type { Document } from "../delivery/mount.ts";
import type { Code } from "./problems.ts";

type StepReason = Readonly<{
  code: Code;
  detail?: string | undefined;
  ready: boolean;
  /**
   * Milliseconds until the next look; `back off`: 1 s, doubling to 30 s while the code stays the
   * same.
   */
  again: number | "back off";
}>;

export type Step = StepReason &
  /**
   * `refused`: the node is not fit, and nothing on it has been touched; other nodes need not wait
   * for it. Without a grant the pod is Ready nevertheless. `word`: what the container's end is to
   * say of the grant, once.
   */
  (
    | Readonly<{ action: "wait" | "nothing"; refused?: true; word?: WordKind }>
    /**
     * Journal, then config.json. `former`: the journal of a node that is at rest, to go back to
     * where the system does not let us write.
     */
    | Readonly<{
        action: "apply";
        journal: Journal;
        former?: Readonly<{ journal: Journal | undefined }>;
        plan: Plan;
        found: FoundFile;
      }>
    /** Only config.json: the journal says so already. */
    | Readonly<{ action: "restore"; plan: Rewrite; found: FoundFile }>
    /**
     * Journal, then RestartUnit. `unasked`: the journal if systemd did not take the request.
     * `evenUnrecorded`: the kubelet is down, and a disk that is full must not keep it so; recorded
     * afterwards.
     */
    | Readonly<{
        action: "restart";
        journal: Journal;
        unasked: Journal;
        resetFirst: boolean;
        evenUnrecorded: boolean;
      }>
    /** Only RestartUnit: a newer agent's kubelet is down, and its journal is not ours to write. */
    | Readonly<{ action: "revive"; unit: string }>
    /** Only the journal: a step is over. */
    | Readonly<{ action: "record"; journal: Journal }>
    /** Termination message, journal, exit. */
    | Readonly<{ action: "give up"; journal: Journal }>
    /** Termination message, exit with this code: a word that only the container's end can say. */
    | Readonly<{ action: "end"; exit: number; word: WordKind }>
    /** The unreadable journal is moved out of the way. */
    | Readonly<{ action: "set aside" }>
    /** Only config.json, without a journal; then our folder goes, too. */
    | Readonly<{ action: "clean"; plan: Rewrite; found: FoundFile }>
    /** Our folder goes: nothing of ours is left on the node. */
    | Readonly<{ action: "leave" }>
  );

/**
 * What a decision may ask for. mounted: the Secret · healthz · kubelet: its unit, over D-Bus, and
 * healthz · fitness: both, and what only the preflight needs.
 */
export type Asked = "mounted" | "healthz" | "kubelet" | "fitness";

/** A step, or what has to be known before there is one. */
export type Answer = Step | Ask;
type Ask = Readonly<{ action: "ask"; for: Asked; ready: false }>;

/** The pause of an idle agent, which bounds how long a lost hint matters. */
export const resync = 30_000;
export const soon = 1000;
/** The pause during a restart: the kubelet answers healthz 0.3 s after its job is done. */
export const fast = 250;

export function ask(asked: Asked): Ask {
  return { action: "ask", for: asked, ready: false };
}

export function wait(code: Code, again: Step["again"], detail?: string): Step {
  return { action: "wait", code, detail, ready: false, again };
}

/** A wait for a person: this node is not fit, and nothing on it has been touched. */
export function refuse(code: Code, again: Step["again"], detail?: string): Step {
  return { action: "wait", code, detail, ready: false, again, refused: true };
}

/** A wait that the container's end is to tell once. */
export function tell(word: WordKind, code: Code, detail?: string): Step {
  return { action: "wait", code, detail, ready: false, again: resync, word };
}

/** A step that changes something: the next look follows at once. */
export function atOnce<Change extends object>(change: Change): Change & { ready: false; again: 0 } {
  return { ...change, ready: false, again: 0 };
}

export function record(code: Code, journal: Journal, detail?: string): Step {
  return atOnce({ action: "record", code, detail, journal });
}

/** What the journal says of the revision that is on its way, or in force. */
type Named = Pick<Journal, "owned" | "revision" | "digest" | "content">;

export function named(planned: Plan, { revision, digest, content }: Document): Named {
  return { owned: planned.owned, revision, digest, content };
}

/** The results of a decision: its steps, their codes, and the text that users see for a code. */
import type { Result } from "#contract/order.ts";
import type { Journal } from "../journal/journal.ts";
import type { FoundFile, Plan, Rewrite } from "../delivery/delivery.ts";
import type { Document } from "../delivery/mount.ts";
import { catalogue, type AgentCode } from "#contract/agent-codes.ts";
import type { Catalogue } from "#contract/catalogue.ts";

type StepReason = Readonly<{
  code: Code;
  detail?: string | undefined;
  /**
   * Milliseconds until the next round. `back off`: 1 s, doubled up to 30 s while the code stays the
   * same.
   */
  again: number | "back off";
}>;

export type Step = StepReason &
  /** `result`: what the agent reports. `Refused` is about the order, if there is an order. */
  (
    | Readonly<{ action: "wait" | "nothing"; result?: Result }>
    /**
     * Writes the journal, then config.json. `former`: set if the node was idle. Contains the
     * journal from before this step, which we restore if the system forbids the write.
     */
    | Readonly<{
        action: "apply";
        journal: Journal;
        former?: Readonly<{ journal: Journal | undefined }>;
        plan: Rewrite & Pick<Plan, "fileMode">;
        file: FoundFile;
      }>
    /** Writes only the files, because the journal is already correct. */
    | Readonly<{ action: "restore"; plan: Rewrite; file: Pick<FoundFile, "identity"> }>
    /**
     * Writes the journal, then calls RestartUnit. `unasked`: the journal to restore if systemd does
     * not accept the request. `evenUnrecorded`: the kubelet is down, so restart it even on a full
     * disk, and write the journal afterwards.
     */
    | Readonly<{
        action: "restart";
        journal: Journal;
        unasked: Journal;
        resetFirst: boolean;
        evenUnrecorded: boolean;
      }>
    /**
     * Calls only RestartUnit. A newer agent left the kubelet down, and we must not write that
     * agent's journal.
     */
    | Readonly<{ action: "revive"; unit: string }>
    /** Writes only the journal, for example when a phase is complete. */
    | Readonly<{ action: "record"; journal: Journal }>
    /** Moves the unreadable journal out of the way. */
    | Readonly<{ action: "set aside" }>
    /** Writes the files alone, without a journal, and then removes our folder. */
    | Readonly<{ action: "clean"; plan: Rewrite; file: Pick<FoundFile, "identity"> }>
    /** Removes our folder. Nothing of ours is left on the node. */
    | Readonly<{ action: "leave" }>
  );

/**
 * The facts that a decision can request. mounted: the Secret · healthz: whether the kubelet answers
 * · kubelet: its unit, over D-Bus, and healthz.
 */
export type Question = "mounted" | "healthz" | "kubelet";

/** A step, or a request for more facts. */
export type Answer = Step | Ask;
type Ask = Readonly<{ action: "ask"; for: Question }>;

/** Milliseconds between the rounds of an idle agent, even if every hint is lost. */
export const resync = 30_000;
export const soon = 1000;
/**
 * Milliseconds between rounds during a restart. The kubelet answers 0.3 s after systemd's job ends.
 */
export const fast = 250;

export function ask(asked: Question): Ask {
  return { action: "ask", for: asked };
}

export function wait(code: Code, again: Step["again"], detail?: string): Step {
  return { action: "wait", code, detail, again };
}

/** Waits for an administrator: this node is unfit and untouched. */
export function refuse(code: Code, again: Step["again"], detail?: string): Step {
  return { action: "wait", code, detail, again, result: "Refused" };
}

/** A step that changes something. The next round follows at once. */
export function atOnce<Change extends object>(change: Change): Change & { again: 0 } {
  return { ...change, again: 0 };
}

export function record(code: Code, journal: Journal, detail?: string): Step {
  return atOnce({ action: "record", code, detail, journal });
}

/** The journal's record of the revision in force or under way. */
type Named = Pick<Journal, "owned" | "revision" | "digest" | "content">;

export function named(planned: Plan, { revision, digest, content }: Document): Named {
  return { owned: planned.owned, revision, digest, content };
}

type Kind = keyof typeof catalogue;

export type Code = AgentCode;

/** Kind → code. Decisions use the kind, and users see the code. */
export const codes = Object.fromEntries(
  Object.entries(catalogue).map(([kind, [code]]) => [kind, code]),
) as { readonly [Each in Kind]: (typeof catalogue)[Each][0] };

const byCode = new Map<Code, Catalogue[string]>(
  Object.values(catalogue).map((entry) => [entry[0], entry]),
);

/**
 * One line: `GPS213 meaning (detail); what happens next`. The detail names files, units and
 * revisions, never a credential. Its line breaks and control characters become spaces. It is cut at
 * 400 characters, because the API server accepts a message of at most 800.
 */
export function formatLine(code: Code, detail?: string): string {
  const [, what = "", next = ""] = byCode.get(code) ?? [];
  const shown = detail?.replaceAll(/[\s\p{Cc}]+/gu, " ").slice(0, 400);
  return shown ? `${code} ${what} (${shown}); ${next}` : `${code} ${what}; ${next}`;
}

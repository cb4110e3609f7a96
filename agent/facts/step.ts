/** The results of a decision: its steps, their codes, and the text that users see for a code. */
import type { Result } from "#contract/order.ts";
import type { Journal } from "../journal/journal.ts";
import type { Commit } from "../journal/store.ts";
import type { HostsChange } from "../delivery/runtime/plan.ts";
import type { FileIdentity } from "../files/atomic-write.ts";
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
    /** Replaces the journal and config.json together. `answer`, `hosts`: written before them. */
    | Readonly<{ action: "commit"; commit: Commit } & Beside>
    /** Writes only the provider's answer. */
    | Readonly<{ action: "answer"; answer: Answered }>
    /** Writes only containerd's hosts.toml files. */
    | Readonly<{ action: "hosts"; hosts: readonly HostsChange[] }>
    /**
     * Writes the journal, if it differs from `former`, then calls RestartUnit. If the journal
     * cannot be written, the unit is restarted nevertheless, because the kubelet is down.
     * `refused`: the journal if systemd refuses to restart a living process.
     */
    | Readonly<{
        action: "restart";
        unit: string;
        journal: Journal;
        former: Journal;
        resetFirst: boolean;
        refused: Journal | undefined;
      }>
    /** Writes only the journal, for example when a phase is complete. */
    | Readonly<{ action: "record"; journal: Journal; former: Journal | undefined }>
    /** Removes the unreadable journal. */
    | Readonly<{ action: "set aside" }>
    /** Removes our folder. Nothing of ours is left on the node. */
    | Readonly<{ action: "leave" }>
  );

/** The bytes of the provider's answer, and the answer as it was found. */
export type Answered = Readonly<{ bytes: Buffer; expected: FileIdentity }>;

/** What is written beside config.json. */
export type Beside = Readonly<{ answer?: Answered; hosts?: readonly HostsChange[] }>;

/** A step, or a request for the facts about the kubelet. */
export type Answer = Step | Ask;
type Ask = Readonly<{ action: "ask" }>;

/** Milliseconds between the rounds of an idle agent, even if every hint is lost. */
export const resync = 30_000;
export const soon = 1000;
/**
 * Milliseconds between rounds during a restart. The kubelet answers 0.3 s after systemd's job ends.
 */
export const fast = 250;

export const ask: Ask = { action: "ask" };

export function wait(code: Code, again: Step["again"], detail?: string): Step {
  return { action: "wait", code, detail, again };
}

/** Waits for an administrator: this node is unfit and untouched. */
export function refuse(code: Code, again: Step["again"], detail?: string): Step {
  return { action: "wait", code, detail, again, result: "Refused" };
}

/** A step that changes something. The next round follows at once. */
export function atOnce<const Change extends object>(change: Change): Change & { again: 0 } {
  return { ...change, again: 0 };
}

/** `former`: the journal on the disk. */
export function record(
  code: Code,
  journal: Journal,
  former: Journal | undefined,
  detail?: string,
): Step {
  return atOnce({ action: "record", code, detail, journal, former });
}

/** The journal that the step writes, if it writes one. */
export function journalOf(step: Step): Journal | undefined {
  if (step.action === "commit") return step.commit.journal;
  return step.action === "record" || step.action === "restart" ? step.journal : undefined;
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

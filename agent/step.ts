/** What a decision may say. */
import type { Journal } from "./journal.ts";
import type { Found, Plan } from "./plan.ts";
import type { Code } from "./problems.ts";

type Reason = Readonly<{
  code: Code;
  detail?: string | undefined;
  ready: boolean;
  /** Milliseconds until the next look; `back off`: 1 s, doubling to 30 s while the code stays the same. */
  again: number | "back off";
}>;

export type Step = Reason &
  (
    | Readonly<{ action: "wait" | "nothing" }>
    /** Journal, then config.json. */
    | Readonly<{ action: "apply" | "restore"; journal: Journal; plan: Plan; found: Found }>
    /** Journal, then RestartUnit. `unasked`: the journal if systemd did not take the request. */
    | Readonly<{ action: "restart"; journal: Journal; unasked: Journal; resetFirst: boolean }>
    /** Only the journal: a step is over. */
    | Readonly<{ action: "record"; journal: Journal }>
    /** Termination message, journal, exit. */
    | Readonly<{ action: "give up"; journal: Journal }>
    /** The unreadable journal is moved out of the way. */
    | Readonly<{ action: "set aside" }>
    /** Our folder goes: nothing of ours is left on the node. */
    | Readonly<{ action: "leave" }>
  );

/** At rest: hints arrive by themselves; this bounds for how long a lost one matters. */
export const resync = 30_000;
export const soon = 1000;
/** While a restart is under way: the kubelet answers healthz 0.3 s after its job is done. */
export const fast = 250;

export function wait(code: Code, again: Step["again"], detail?: string): Step {
  return { action: "wait", code, detail, ready: false, again };
}

export function record(code: Code, journal: Journal, detail?: string): Step {
  return { action: "record", code, detail, ready: false, again: 0, journal };
}

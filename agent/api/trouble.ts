/** Reports that requests keep failing. A short trouble, such as a restart, is not reported. */
import { describe } from "../files/errno.ts";
import { Refusal } from "./connection.ts";

/** Kinds of the agents' catalogue. `objectless`: the node has no NodePullSecret. */
export type TroubleKind = "apiSilent" | "apiUnauthorized" | "apiForbidden" | "objectless";

/**
 * `detail`: what was requested, and a status or an error of the system; never the server's text.
 */
export type ApiTrouble = Readonly<{ kind: TroubleKind; detail: string }>;

/**
 * How many milliseconds a trouble must last. After an API server has started, requests are refused
 * with 403 and 429 for some seconds, and the controller needs some seconds to create an object.
 */
const lasting = 30_000;

/** A row of failures of the same request, which the agent repeats. */
export type Streak = Readonly<{
  /** It failed, or it is `objectless`. */
  failed: (reason: unknown) => void;
  ended: () => void;
}>;

/**
 * Returns the maker of streaks. All streaks together report each kind once, until the streak that
 * reported it has ended. `clock`: milliseconds that never jump.
 */
export function openStreaks(report: (trouble: ApiTrouble) => void, clock: () => number) {
  const reporters = new Map<TroubleKind, Streak>();

  return (requested: string): Streak => {
    let began = 0;
    let present: TroubleKind | undefined;
    const streak: Streak = {
      failed: (reason) => {
        const kind = kindOf(reason);
        if (kind !== present) {
          streak.ended();
          [present, began] = [kind, clock()];
        }
        if (clock() - began < lasting || reporters.has(kind)) return;
        reporters.set(kind, streak);
        report({ kind, detail: `${requested}: ${detailOf(reason)}` });
      },
      ended: () => {
        if (present !== undefined && reporters.get(present) === streak) reporters.delete(present);
        present = undefined;
      },
    };
    return streak;
  };
}

function kindOf(reason: unknown): TroubleKind {
  if (reason === "objectless") return reason;
  const status = reason instanceof Refusal ? reason.status : 0;
  return status === 401 ? "apiUnauthorized" : status === 403 ? "apiForbidden" : "apiSilent";
}

/** Errors of TLS have a code. Their messages contain names from the server's certificate. */
function detailOf(reason: unknown): string {
  if (!(reason instanceof Error)) return "it does not exist";
  const { code } = reason as { code?: unknown };
  return typeof code === "string" && !("syscall" in reason) ? code : describe(reason);
}

/**
 * Removal: first every node gives back our entries, then the objects go, the Secrets last, because
 * they are our notes. Pure and derived from what exists, so that a controller that was killed goes
 * on where the last one stopped.
 */

export type WithdrawalInput = Readonly<{
  /** Something may have reached a node. */
  rolled: boolean;
  /** Every living node has the published revision, or somebody told us to assume so. */
  released: boolean;
  exists: Readonly<
    Record<"daemonSet" | "roleBinding" | "role" | "serviceAccount" | "global" | "state", boolean>
  >;
  /** The DaemonSet is being deleted already. */
  terminating: boolean;
  /** Agents' pods on living nodes; undefined: not counted. */
  agents: number | undefined;
}>;

export type WithdrawalStep =
  /** Bring the revision without additional entries to every node. */
  | "release"
  | "delete daemonSet"
  | "await daemonSet"
  | "count agents"
  | "await agents"
  | "delete roleBinding"
  | "delete role"
  | "delete serviceAccount"
  | "delete global"
  | "delete state"
  | "done";

export function nextWithdrawalStep({
  rolled,
  released,
  exists,
  terminating,
  agents,
}: WithdrawalInput): WithdrawalStep {
  if (rolled && !released) return "release";
  if (exists.daemonSet) return terminating ? "await daemonSet" : "delete daemonSet";
  if (exists.global && agents === undefined) return "count agents";
  if (exists.global && (agents ?? 0) > 0) return "await agents";
  if (exists.roleBinding) return "delete roleBinding";
  if (exists.role) return "delete role";
  if (exists.serviceAccount) return "delete serviceAccount";
  if (exists.global) return "delete global";
  return exists.state ? "delete state" : "done";
}

/** Seconds until the next look at what stands still: 1 at first, 30 at most. */
export const pauseAfter = (stillSeconds: number): number =>
  Math.min(30, Math.max(1, Math.round(stillSeconds / 4)));

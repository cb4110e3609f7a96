/**
 * Removal: first every node gives back our entries, then the objects go, the Secret last, because it is our memory. Pure
 * and derived from what exists, so that a controller that was killed goes on where the last one stopped.
 */
export type DrainInput = Readonly<{
  /** A revision above 0 may have reached a node. */
  rolled: boolean;
  /** Every node that lives has the published revision, or somebody said that it is to be taken for so. */
  released: boolean;
  exists: Readonly<Record<"daemonSet" | "roleBinding" | "role" | "serviceAccount" | "global", boolean>>;
  /** The DaemonSet is being deleted already. */
  terminating: boolean;
  /** Agents' pods on living nodes; undefined: not counted. */
  agents: number | undefined;
}>;

export type DrainStep =
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
  | "done";

export function nextDrainStep({ rolled, released, exists, terminating, agents }: DrainInput): DrainStep {
  if (rolled && !released) return "release";
  if (exists.daemonSet) return terminating ? "await daemonSet" : "delete daemonSet";
  if (exists.global && agents === undefined) return "count agents";
  if (exists.global && (agents ?? 0) > 0) return "await agents";
  if (exists.roleBinding) return "delete roleBinding";
  if (exists.role) return "delete role";
  if (exists.serviceAccount) return "delete serviceAccount";
  return exists.global ? "delete global" : "done";
}

/**
 * Removal: first every node gives back our entries, then the objects go, the Secrets last, because
 * they are our notes. Pure and derived from what exists, so that a controller that was killed goes
 * on where the last one stopped.
 */
import type { Survey } from "#controller/rollout/turn/survey-result.ts";

export type WithdrawalInput = Readonly<{
  /** A revision above 0 may have reached a node. */
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

/** Nodes by whether they have given back our entries. */
export type GivenBack = Readonly<{
  /** Living nodes that have not said that they did. */
  lacking: readonly string[];
  /**
   * Nodes that cannot be asked now: unreachable ones, and living ones on which no agent starts.
   * They may hold our entries, also where the agent before this one started.
   */
  away: readonly string[];
}>;

/** An agent that has not started this long after its pod was created may take hours. */
const startSeconds = 60;

/**
 * Which nodes have given back, among those that the DaemonSet calls served. An available agent is
 * no proof: any process on the node that takes the probe's port can make it available. Only the
 * agent itself can write its container's termination message.
 */
export function givenBack(nodes: Survey): GivenBack {
  const of = (state: keyof GivenBack) =>
    nodes.filter((node) => stateOf(node) === state).map(({ name }) => name);
  return { lacking: of("lacking"), away: of("away") };
}

function stateOf({ silent, agent }: Survey[number]): keyof GivenBack | "back" {
  if (agent?.current && agent.gaveBack && (agent.available || silent)) return "back";
  if (silent) return "away";
  return agent !== undefined && !agent.started && agent.ageSeconds >= startSeconds
    ? "away"
    : "lacking";
}

/** Seconds until the next look at what stands still: 1 at first, 30 at most. */
export const pauseAfter = (stillSeconds: number): number =>
  Math.min(30, Math.max(1, Math.round(stillSeconds / 4)));

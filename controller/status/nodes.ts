/** The counts of nodes, and up to ten nodes with their reasons. Pure. */
import type { NodeFailure, NodesStatus } from "#api/global-pull-secret.ts";
import type { ListedNode } from "#controller/rollout/facts.ts";
import { reasonOf } from "#contract/node-codes.ts";
import { timeOf } from "#kube/conditions.ts";
import type { Progress } from "../rollout/step.ts";

const mostNames = 10;
/** The longest failure message that the API server accepts. */
const longestMessage = 1024;

/** Undefined before the agents' pods have been read. */
export function nodesOf({ view, desired, available }: Progress): NodesStatus | undefined {
  if (view === undefined) return undefined;
  const { counts, excused, failed } = view;
  const unfit = excused.filter(({ reason }) => reason === "unfit").length;
  return {
    summary: `${counts.current}/${desired}`,
    desired,
    updated: counts.current,
    available,
    unfit,
    unreachable: excused.length - unfit,
    failed: failed.length,
  };
}

/** Failed nodes, then nodes that cannot be served. */
export function failuresOf(
  progress: Progress,
  before: readonly NodeFailure[],
  now: Date,
): readonly NodeFailure[] {
  const { view } = progress;
  if (view === undefined) return before;
  return troubledOf(progress)
    .slice(0, mostNames)
    .map(({ node, message: whole }) => {
      const message = whole.slice(0, longestMessage);
      const [code] = /\bGPS\d{3}\b/.exec(message) ?? [];
      const last = before.find((earlier) => earlier.node === node && earlier.code === code);
      const since = last?.since ?? timeOf(now);
      const failure = { node, message, since };
      return code === undefined ? failure : Object.assign(failure, { code });
    });
}

/** A node, and why it does not have the newest content. */
export type TroubledNode = Readonly<{ node: string; message: string }>;

/** Failed nodes, then excused nodes, each with its agent's termination message if there is one. */
export function troubledOf(progress: Progress): readonly TroubledNode[] {
  const { view, pods } = progress;
  const byNode = new Map(pods.map((pod) => [pod.node, pod]));
  return [...(view?.failed ?? []), ...(view?.excused ?? [])].map((listed) => ({
    node: listed.node,
    message: messageOf(listed, byNode.get(listed.node)),
  }));
}

function messageOf(
  { reason, waitingReason, why }: ListedNode,
  pod: Progress["pods"][number] | undefined,
): string {
  const agentMessage = pod?.terminationMessage?.kind === "proved" ? undefined : pod?.message;
  const because = waitingReason === undefined ? "" : `: ${waitingReason}`;
  // An agent with a termination message has started and has exited by itself. Only this message
  // explains what the agent waits for.
  const isRunning = waitingReason === undefined && agentMessage !== undefined;
  switch (reason) {
    case "word":
    case "unfit":
    case "behind":
      return pod?.message ?? "its agent refused the revision";
    case "late":
      return reasonOf("late");
    case "away":
      return reasonOf("away");
    case "not-started":
      if (isRunning) return `its agent is not Ready: ${agentMessage}`;
      return `${reasonOf("notStarted")}${because}`;
    case "not-ready":
      return `its agent is not Ready${isRunning ? `: ${agentMessage}` : because}`;
    case "podless":
      return reasonOf("podless");
    case "admission":
      return `its grant was refused: ${why}`;
  }
}

/** Names of up to ten nodes that cannot be served now, and their number. */
export function leftOut({ view }: Progress): Readonly<{ names: readonly string[]; count: number }> {
  // Failed nodes count only after the promotion, because during a rollout they might lead to a
  // halt.
  const failed = view?.phase === "served" ? view.failed : [];
  const nodes = [...failed, ...(view?.excused ?? [])];
  return { names: nodes.slice(0, mostNames).map(({ node }) => node), count: nodes.length };
}

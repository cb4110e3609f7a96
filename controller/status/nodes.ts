/** Nodes, counted, and ten of them named with their reason. Pure. */
import type { NodeFailure, NodesStatus } from "#api/global-pull-secret.ts";
import type { ListedNode } from "#controller/rollout/facts.ts";
import { timeOf } from "#kube/conditions.ts";
import type { Progress } from "../rollout/step.ts";

/** Most nodes that a status names, however many there are. */
const mostNames = 10;
/** Most characters of a failure's message that the API server accepts. */
const longestMessage = 1024;

/** Counts of nodes; undefined before the agents' pods were read. */
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

/** Nodes that failed, and nodes that cannot be served: the worst first. */
export function failuresOf(
  progress: Progress,
  before: readonly NodeFailure[],
  now: Date,
): readonly NodeFailure[] {
  const { view } = progress;
  if (view === undefined) return before;
  return troubledOf(progress)
    .slice(0, mostNames)
    .map(({ node, message: said }) => {
      const message = said.slice(0, longestMessage);
      const [code] = /\bGPS\d{3}\b/.exec(message) ?? [];
      const last = before.find((one) => one.node === node && one.code === code);
      const since = last?.since ?? timeOf(now);
      const failure = { node, message, since };
      return code === undefined ? failure : Object.assign(failure, { code });
    });
}

/** A node, and what keeps it from having the newest content. */
export type TroubledNode = Readonly<{ node: string; message: string }>;

/** Failed nodes, then excused ones, each with its agent's own words where it has said any. */
export function troubledOf(progress: Progress): readonly TroubledNode[] {
  const { view, pods } = progress;
  const byNode = new Map(pods.map((pod) => [pod.node, pod]));
  return [...(view?.failed ?? []), ...(view?.excused ?? [])].map((one) => ({
    node: one.node,
    message: messageOf(one, byNode.get(one.node)),
  }));
}

/** Why a node is not served, for people. */
function messageOf(
  { reason, waitingReason, why }: ListedNode,
  pod: Progress["pods"][number] | undefined,
): string {
  const said = pod?.terminationMessage?.kind === "proved" ? undefined : pod?.message;
  const because = waitingReason === undefined ? "" : `: ${waitingReason}`;
  // An agent that ended by itself did start. Only its own words tell what it waits for.
  const isRunning = waitingReason === undefined && said !== undefined;
  switch (reason) {
    case "word":
    case "unfit":
    case "behind":
      return pod?.message ?? "its agent refused";
    case "late":
      return "its agent has not answered in time";
    case "away":
      return "its kubelet has not been reachable for a minute";
    case "not-started":
      if (isRunning) return `its agent is not Ready: ${said}`;
      return `its agent does not start${because}`;
    case "not-ready":
      return `its agent is not Ready${isRunning ? `: ${said}` : because}`;
    case "podless":
      return "it has no agent's pod";
    case "admission":
      return `its grant is refused: ${why}`;
  }
}

/** Names of nodes that cannot be served now, ten at most, and how many there are. */
export function leftOut({ view }: Progress): Readonly<{ names: readonly string[]; count: number }> {
  // During a rollout a failure may still halt it.
  const failed = view?.phase === "served" ? view.failed : [];
  const nodes = [...failed, ...(view?.excused ?? [])];
  return { names: nodes.slice(0, mostNames).map(({ node }) => node), count: nodes.length };
}

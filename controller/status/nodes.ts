/** The counts of nodes, why nodes wait, and the nodes that need help. Pure. */
import type { NodeFailure, NodesStatus } from "#api/global-pull-secret.ts";
import type { WaitWord } from "#api/reasons.ts";
import { escape } from "#contract/catalogue.ts";
import { catalogue, reasonOf } from "#contract/node-codes.ts";
import type { View, WaitingNode, WaitReason } from "#controller/rollout/facts.ts";
import { timeOf } from "#kube/conditions.ts";
import type { Progress } from "../rollout/step.ts";

/** The reasons of a decision, as users read them. */
export const waitWords: Readonly<Record<WaitReason, WaitWord>> = {
  podless: "NoAgentPod",
  starting: "AgentStarting",
  unreachable: "Unreachable",
  atWork: "AtWork",
  silent: "Silent",
  failed: "Failed",
  refused: "Unfit",
  unguarded: "PolicyMissing",
  paused: "Paused",
  halted: "Halted",
  otherMode: "OtherMode",
  controlPlane: "ControlPlaneAtWork",
  window: "NoPlace",
};

/** How many nodes wait for each reason. Reasons without a node are left out. */
export function waitCounts(view: View): ReadonlyMap<WaitReason, number> {
  const counts = new Map<WaitReason, number>();
  for (const { reason } of view.waiting) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return counts;
}

/** Undefined before the nodes have been read, and while nothing is decided about them. */
export function nodesOf({ view, available }: Progress): NodesStatus | undefined {
  if (view === undefined || view.phase === "idle") return undefined;
  const { current, desired } = view;
  const counts = waitCounts(view);
  const count = (reason: WaitReason) => counts.get(reason) ?? 0;
  return {
    summary: `${current}/${desired}`,
    desired,
    updated: current,
    available,
    unfit: count("refused"),
    unreachable: count("unreachable"),
    failed: count("failed"),
    silent: count("silent"),
    waiting: [...counts].map(([reason, nodes]) => ({ reason: waitWords[reason], nodes })),
  };
}

/** A node that needs help, and why it does not have the newest content. */
export type TroubledNode = Readonly<{
  node: string;
  code: string;
  /** Begins with the code. */
  message: string;
  /** When the agent first reported this, in seconds since 1970. Undefined: it did not report it. */
  since: number | undefined;
}>;

/** The reasons for which a node needs help, the most important reason first. */
const helpless = ["failed", "silent", "refused", "unreachable", "starting", "podless"] as const;

/** Seconds for which the kubelet may fail to start a new agent before this is reported. */
const startSeconds = 60;

/** Why a container waits while all is well. */
const usual: ReadonlySet<string> = new Set(["ContainerCreating", "PodInitializing"]);

/**
 * The nodes that need help, by reason. Other nodes have the content, or will get it soon.
 * `isPodsRefused`: for so long, no pod has been created that it is reported.
 */
export function helplessNodes(
  { view, nodes, now }: Progress,
  isPodsRefused: boolean,
): readonly WaitingNode[] {
  const pods = new Map(nodes.map(({ name, pod }) => [name, pod]));
  const needsHelp = ({ node, reason, waitingReason }: WaitingNode): boolean => {
    if (reason === "podless") return isPodsRefused;
    if (reason !== "starting") return true;
    if (waitingReason === undefined || usual.has(waitingReason)) return false;
    return now - (pods.get(node)?.created ?? now) >= startSeconds;
  };
  const waiting = view?.waiting ?? [];
  return helpless.flatMap((reason) =>
    waiting.filter((node) => node.reason === reason && needsHelp(node)),
  );
}

/**
 * True if no node gets the content without help. Nodes whose kubelet does not answer return by
 * themselves, so at least one other node must wait.
 */
export function isStuck(progress: Progress, isPodsRefused: boolean): boolean {
  const { waiting = [], isReady = false } = progress.view ?? {};
  const isForPeople = waiting.some(({ reason }) => reason !== "unreachable");
  return (
    !isReady && isForPeople && helplessNodes(progress, isPodsRefused).length === waiting.length
  );
}

/** What to report about a node that needs help. */
export function troubleOf({ node, reason, waitingReason, report }: WaitingNode): TroubledNode {
  if ((reason === "failed" || reason === "refused") && report !== undefined) {
    const { code, since } = report;
    // An agent's sentence may begin with its code.
    const text = report.message.replace(/^GPS\d{3}:? */, "");
    return { node, code, message: `${code} ${escape(text)}`, since };
  }
  const kind = nodeKinds[reason] ?? "silent";
  const because = waitingReason === undefined ? "" : `: ${waitingReason}`;
  const message = `${reasonOf(kind)}${kind === "notStarted" ? because : ""}`;
  return { node, code: catalogue[kind][0], message, since: undefined };
}

const nodeKinds: Readonly<Partial<Record<WaitReason, keyof typeof catalogue>>> = {
  silent: "silent",
  unreachable: "away",
  starting: "notStarted",
  podless: "podless",
};

/** Nodes that a withdrawal left behind. */
export const leftBehindNodes = (names: readonly string[]): readonly TroubledNode[] =>
  names.map((node) => ({
    node,
    code: catalogue.leftBehind[0],
    message: reasonOf("leftBehind"),
    since: undefined,
  }));

const mostNames = 10;
/** The longest failure message that the API server accepts. */
const longestMessage = 1024;

/** The first of these nodes for status. `before`: the last status, which has the earlier times. */
export function failuresOf(
  troubled: readonly TroubledNode[],
  before: readonly NodeFailure[],
  now: Date,
): readonly NodeFailure[] {
  return troubled.slice(0, mostNames).map(({ node, code, message, since }) => {
    const last = before.find((earlier) => earlier.node === node && earlier.code === code);
    const reported = since === undefined ? undefined : timeOf(new Date(since * 1000));
    return {
      node,
      code,
      message: message.slice(0, longestMessage),
      since: reported ?? last?.since ?? timeOf(now),
    };
  });
}

/**
 * The overall state, and who must act next: a table in which the first match counts. Reconciling
 * and Stalled come from one field, so they cannot both be True.
 */
import type { StatusCondition, RegistryStatus } from "#api/global-pull-secret.ts";
import type { View, WaitingNode } from "#controller/rollout/facts.ts";
import type { Progress } from "../rollout/step.ts";
import type { ReadyReason, ReconcilingReason, StalledReason } from "#api/reasons.ts";
import { listOf } from "#controller/sources/problems.ts";
import type { Withdrawal } from "#controller/sources/input.ts";
import { troubles, type TroubleKind } from "./messages.ts";
import { isStuck, waitCounts, waitWords } from "./nodes.ts";
import type { ManagementState } from "../policy/policy.ts";
import type { Removal } from "../withdrawal/withdrawal.ts";
import type { SourceFacts, Versions } from "./sources.ts";

export type Stage =
  /** No run has been completed yet. */
  | Readonly<{ kind: "starting" }>
  /**
   * Nothing is declared, and none of our objects exist, except the NodePullSecrets of nodes that an
   * earlier withdrawal left behind.
   */
  | Readonly<{ kind: "nothing"; leftBehind: readonly string[] }>
  /**
   * The run stopped early. The troubles, a pause, or an object that is being deleted explain why.
   */
  | Readonly<{ kind: "blocked"; by?: "DaemonSet" }>
  | Readonly<{ kind: "rollout"; progress: Progress }>
  | Readonly<{ kind: "removal"; removal: Removal }>;

export type StatusFacts = Readonly<{
  generation: number;
  managementState: ManagementState;
  /** True if a pause delays a change of the spec. */
  specWaits: boolean;
  stage: Stage;
  /** Everything that lasts, with its message. No message contains a credential. */
  troubles: readonly Readonly<{ kind: TroubleKind; message: string }>[];
  /** The withdrawal of additional-pull-secret. Undefined if nothing of it will be removed. */
  withdraws: Withdrawal | undefined;
  sources: readonly SourceFacts[];
  registries: readonly RegistryStatus[];
  /** Source → its version in the last served revision. */
  served: Versions;
}>;

/** `next`: who must act before Ready can be True. */
export type Summary = Readonly<{ message: string }> &
  (
    | Readonly<{ next: "nobody"; ready: "True"; reason: ReadyReason | "Paused" }>
    | Readonly<{ next: "controller"; ready: "False" | "Unknown"; reason: ReconcilingReason }>
    | Readonly<{ next: "person"; ready: "False"; reason: StalledReason }>
  );

type SummaryRule = (facts: StatusFacts) => Summary | undefined;

export function summaryOf(facts: StatusFacts): Summary {
  for (const rule of rules) {
    const summary = rule(facts);
    if (summary !== undefined) return summary;
  }
  return reconciling("Starting", "nothing has been checked yet", "Unknown");
}

/** Each rule returns the state, or undefined for the next rule. */
const rules: readonly SummaryRule[] = [
  // Troubles that stop a run early, or keep the spec from being followed.
  stalledBy("unsupported", "foreign", "refused", "contested"),
  unanswered,
  // The controller follows a withdrawal whatever else the spec requests.
  (facts) => (facts.managementState === "Withdrawn" ? undefined : stalledBy("notAllowed")(facts)),
  ofStart,
  ofNothing,
  ofRemoval,
  // A withdrawal needs no source. Everything else does.
  stalledBy("rejected", "originalRejected"),
  ({ stage }) =>
    stage.kind === "blocked" && stage.by === "DaemonSet"
      ? reconciling("StartingAgents", "the agents' old DaemonSet is being deleted")
      : undefined,
  ofPause,
  ({ sources }) =>
    sources.some(({ reason }) => reason === "Verifying")
      ? reconciling("Verifying", "the registries are being asked about new content")
      : undefined,
  // Entries that stay until someone requests their removal are in force, so nothing is awaited.
  ({ withdraws }) =>
    withdraws?.begins &&
    reconciling(
      "WithdrawalAwaited",
      `${withdraws.lost.length > 0 ? "most of its registries" : "it"} will be withdrawn at ${withdraws.begins.toISOString()}`,
    ),
  neverRead,
  ofRollout,
];

/** The first of these kinds of trouble that exists, with all its messages. */
function stalledBy(...kinds: readonly TroubleKind[]): SummaryRule {
  return ({ troubles: activeTroubles }) => {
    for (const kind of kinds) {
      const texts = activeTroubles
        .filter((trouble) => trouble.kind === kind)
        .map(({ message }) => message);
      if (texts.length > 0)
        return stalled(troubles[kind].reason as StalledReason, texts.join(" | "));
    }
    return undefined;
  };
}

/** If nothing can be read, the state is unknown. */
function unanswered({ troubles: activeTroubles }: StatusFacts): Summary | undefined {
  const trouble = activeTroubles.find(({ kind }) => kind === "unanswered");
  return trouble && reconciling("RequestUnanswered", trouble.message, "Unknown");
}

/** True until the first run has read everything, also the agents' pods. */
export const isUnread = (stage: Stage): boolean =>
  stage.kind === "starting" || (stage.kind === "rollout" && stage.progress.view === undefined);

function ofStart({ stage }: StatusFacts): Summary | undefined {
  if (!isUnread(stage)) return undefined;
  const what =
    stage.kind === "starting" ? "nothing has been checked yet" : "the agents' pods are being read";
  return reconciling("Starting", what, "Unknown");
}

function ofNothing({ stage, managementState }: StatusFacts): Summary | undefined {
  if (stage.kind !== "nothing") return undefined;
  const { leftBehind } = stage;
  if (leftBehind.length > 0)
    return settled(
      "NodesLeftBehind",
      `withdrawn, but not confirmed by every node, so these may keep the entries: ${listOf(leftBehind)}`,
    );
  if (managementState === "Withdrawn")
    return settled("Withdrawn", "withdrawn: nothing of this product is left");
  return settled(
    "NoSource",
    "no source has credentials to apply, and nothing of this product is left",
  );
}

function ofRemoval(facts: StatusFacts): Summary | undefined {
  const { stage } = facts;
  if (stage.kind !== "removal") return undefined;
  const { awaited, released, progress } = stage.removal;
  const held = stalledBy("overdue", "podsRefused")(facts);
  if (held !== undefined) return held;
  const isAway = ({ reason }: WaitingNode) => reason === "unreachable";
  if (awaited !== undefined && !released && progress?.view?.waiting.every(isAway) === true)
    return settled(
      "NodesAwaited",
      `every node whose kubelet answers has removed the entries; waiting for the others until ${awaited.until}`,
    );
  return reconciling("Withdrawing", "withdrawn: the nodes are removing the entries");
}

const isAwaited = ({ reason }: StatusFacts["sources"][number]) => reason === "WithdrawalAwaited";

/** The state during a pause. The message begins with the changes that the pause delays. */
function ofPause(facts: StatusFacts): Summary | undefined {
  const { stage, managementState, specWaits, withdraws, sources } = facts;
  if (managementState !== "Paused") return undefined;
  const view = stage.kind === "rollout" ? stage.progress.view : undefined;
  const isRolling = view?.waiting.some(({ reason }) => reason === "paused") === true;
  const isNewer = view?.pending !== "no" && view?.pending !== "template";
  const what = [
    ...(withdraws !== undefined || sources.some(isAwaited) ? ["a withdrawal"] : []),
    ...(isNewer ? ["a change of the Secrets"] : []),
    ...(isRolling ? ["a rollout"] : []),
    ...(specWaits ? ["a change of spec"] : []),
  ];
  const waits = `${what.join(" and ")} ${what.length > 1 ? "wait" : "waits"}`;
  if (what.length > 0)
    return stalled("Paused", `paused: ${waits} for spec.managementState: Managed`);
  if (stage.kind !== "rollout" || !isOut(stage.progress)) return undefined;
  return {
    next: "nobody",
    ready: "True",
    reason: "Paused",
    message: "paused: nothing waits",
  };
}

/**
 * Returns the state Unknown if the original has never been read. If the original was served once,
 * its last content counts.
 */
function neverRead({ sources, served }: StatusFacts): Summary | undefined {
  const unknown = sources.find(
    ({ name, accepted, extra }) => !extra && accepted === "Unknown" && served[name] === undefined,
  );
  return unknown && reconciling("OriginalUnknown", unknown.message, "Unknown");
}

function ofRollout(facts: StatusFacts): Summary | undefined {
  if (facts.stage.kind !== "rollout") return undefined;
  const { progress } = facts.stage;
  const { view, revision } = progress;
  if (view === undefined) return undefined;
  // A rollout that nodes wait for does not continue, even if most nodes have the content. Newer
  // content that waits only for its time ends the halt.
  const isTimed = view.pending === "interval" || view.pending === "flapping";
  const held = stalledBy(...(isTimed ? [] : ["halted" as const]), "unguarded")(facts);
  if (held !== undefined) return held;
  if (isOut(progress))
    return view.desired === 0
      ? settled("NoNodes", `revision ${revision} is ready for nodes; there are none`)
      : settled("InForce", inForceOn(progress, view));
  return (
    (isStuck(progress, isPodsRefused(facts))
      ? stalledBy("podsRefused", "unserved")(facts)
      : undefined) ?? reconciling(reasonOf(view), messageOf(progress, view))
  );
}

/** True if nodes have lacked an agent pod for so long that it is reported. */
export const isPodsRefused = ({ troubles: activeTroubles }: StatusFacts): boolean =>
  activeTroubles.some(({ kind }) => kind === "podsRefused");

function reasonOf({ waiting, pending, phase }: View): ReconcilingReason {
  if (pending === "interval") return "RollingOutLater";
  if (pending === "flapping") return "SourceFlapping";
  // If all nodes have the content, but the kubelet of none answers, no node waits.
  if (waiting.every(({ reason }) => reason === "unreachable")) return "NodesOutOfReach";
  if (waiting.every(({ reason }) => reason === "starting" || reason === "podless"))
    return "StartingAgents";
  return phase === "first" ? "OneNodeFirst" : "RollingOut";
}

const messageOf = ({ revision }: Progress, view: View): string =>
  [
    `${view.current} of ${view.desired} nodes have revision ${revision}`,
    ...waitTexts(view),
    ...(view.pending === "no" ? [] : [pendingTexts[view.pending]]),
  ].join(", ");

function inForceOn({ revision }: Progress, view: View): string {
  const { current, desired } = view;
  return current === desired
    ? `revision ${revision} is on every node`
    : [`revision ${revision} is on ${current} of ${desired} nodes`, ...waitTexts(view)].join(", ");
}

/** `2 AtWork`, for each reason for which nodes wait. */
const waitTexts = (view: View): readonly string[] =>
  [...waitCounts(view)].map(([reason, count]) => `${count} ${waitWords[reason]}`);

const pendingTexts: Readonly<Record<Exclude<View["pending"], "no">, string>> = {
  interval: "newer content waits for spec.rollout.minInterval",
  paused: "newer content waits",
  flapping: "newer content waits because the Secrets change too often",
  template: "the new mode waits for the agents' DaemonSet",
};

/** True when the published content is the wanted content, and in force. */
const isOut = (progress: Progress): boolean =>
  progress.view?.pending === "no" && isPublishedOut(progress);

/** True when the published content is in force on the nodes, even if newer content waits. */
export const isPublishedOut = ({ intent, revision, view }: Progress): boolean =>
  intent === "apply" &&
  revision > 0 &&
  view !== undefined &&
  view.phase !== "idle" &&
  ((view.isReady && view.halt === undefined) || view.desired === 0);

const settled = (reason: ReadyReason, message: string): Summary => ({
  next: "nobody",
  ready: "True",
  reason,
  message,
});

const reconciling = (
  reason: ReconcilingReason,
  message: string,
  ready: StatusCondition["status"] & ("False" | "Unknown") = "False",
): Summary => ({ next: "controller", ready, reason, message });

const stalled = (reason: StalledReason, message: string): Summary => ({
  next: "person",
  ready: "False",
  reason,
  message,
});

/**
 * The overall state, and who must act next: a table in which the first match counts. Reconciling
 * and Stalled come from one field, so they cannot both be True.
 */
import type { StatusCondition, RegistryStatus } from "#api/global-pull-secret.ts";
import type { View } from "#controller/rollout/facts.ts";
import type { Progress } from "../rollout/step.ts";
import type { ReadyReason, ReconcilingReason, StalledReason } from "#api/reasons.ts";
import { troubles, type TroubleKind } from "./messages.ts";
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
  /** When the absent additional-pull-secret will be withdrawn. Undefined if it exists. */
  withdrawsAt: Date | undefined;
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
  ({ withdrawsAt }) =>
    withdrawsAt &&
    reconciling("WithdrawalAwaited", `will be withdrawn at ${withdrawsAt.toISOString()}`),
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
  const { awaited, released } = stage.removal;
  const held = stalledBy("overdue", "podsRefused")(facts);
  if (held !== undefined) return held;
  if (awaited !== undefined && !released)
    return settled(
      "NodesAwaited",
      `every present node has removed the entries; waiting for the others until ${awaited.until}`,
    );
  return reconciling("Withdrawing", "withdrawn: the nodes are removing the entries");
}

const isAwaited = ({ reason }: StatusFacts["sources"][number]) => reason === "WithdrawalAwaited";

/** The state during a pause. The message begins with the changes that the pause delays. */
function ofPause(facts: StatusFacts): Summary | undefined {
  const { stage, managementState, specWaits, withdrawsAt, sources } = facts;
  if (managementState !== "Paused") return undefined;
  const progress = stage.kind === "rollout" ? stage.progress : undefined;
  const pending = progress?.view?.pending;
  const what = [
    ...(withdrawsAt !== undefined || sources.some(isAwaited) ? ["a withdrawal"] : []),
    ...(pending !== "no" && pending !== "template" ? ["a change of the Secrets"] : []),
    ...(specWaits ? ["a change of spec"] : []),
  ];
  const waits = `${what.join(" and ")} ${what.length > 1 ? "wait" : "waits"}`;
  if (what.length > 0)
    return stalled("Paused", `paused: ${waits} for spec.managementState: Managed`);
  if (progress === undefined || !isOut(progress)) return undefined;
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
  // The content is on the nodes, but an agent is not up to date.
  const upgradeSummary = isOut(progress) ? stalledBy("upgradeRefused")(facts) : undefined;
  if (upgradeSummary !== undefined) return upgradeSummary;
  if (isOut(progress))
    return hasNoNodes(progress)
      ? settled("NoNodes", `revision ${revision} is ready for nodes; there are none`)
      : settled("InForce", `revision ${revision} is on every node that can be served`);
  return (
    stalledBy("podsRefused", "halted", "unserved", "upgradeRefused")(facts) ??
    reconciling(reasonOf(progress, view), messageOf(progress, view))
  );
}

function reasonOf({ desired }: Progress, view: View): ReconcilingReason {
  const { counts, excused, pending, phase } = view;
  if (pending === "interval") return "RollingOutLater";
  if (desired === 0 || counts.starting === desired) return "StartingAgents";
  if (phase !== "canary") return "RollingOut";
  const begins = counts.changing + counts.waiting + counts.starting > 0;
  return begins || excused.length === 0 ? "OneNodeFirst" : "NodesOutOfReach";
}

function messageOf({ revision, desired }: Progress, { counts, phase, pending }: View): string {
  const { current, changing, waiting, failed, excused } = counts;
  const parts = [
    `${current} of ${desired} nodes have revision ${revision}`,
    ...(phase === "canary" ? ["one node goes first"] : []),
    ...(changing > 0 ? [`${changing} changing`] : []),
    ...(waiting > 0 ? [`${waiting} waiting`] : []),
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(excused > 0 ? [`${excused} left out`] : []),
    ...(pending === "no" ? [] : [waitingFor(pending)]),
  ];
  return parts.join(", ");
}

const waitingFor = (pending: Exclude<View["pending"], "no">): string =>
  pending === "template" ? "the new mode waits for the agents' DaemonSet" : "newer content waits";

/**
 * True when the published content is the wanted content, and every node that can be served has once
 * had it. Later changes of a node or its agent do not count.
 */
const isOut = (progress: Progress): boolean =>
  progress.view?.pending === "no" && isPublishedOut(progress);

/**
 * True when the published content is on every node that can be served, even if newer content
 * waits. Nodes that joined after the promotion do not count, because they get the served content.
 */
export const isPublishedOut = (progress: Progress): boolean => {
  const { intent, revision, served, state } = progress;
  const isAwaited = state.revision === revision && state.awaited >= 0;
  const isOnNodes = served === revision && !isAwaited;
  return intent === "apply" && revision > 0 && (isOnNodes || hasNoNodes(progress));
};

const hasNoNodes = ({ desired, isCounted, pods }: Progress): boolean =>
  isCounted && desired === 0 && pods.length === 0;

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

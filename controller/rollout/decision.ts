/**
 * One turn of a rollout, decided on what is found. Nodes and pods are read where the decision asks
 * for a survey.
 */
import type { V1Secret } from "@kubernetes/client-node";
import { type RevisionContent, retryAnnotation } from "#contract/names.ts";
import type { WantedContent } from "../sources/accept.ts";
import { publishesIn, remembered, targetOf, wasServed } from "#controller/rollout/halt/course.ts";
import { templateDigest } from "#controller/objects/daemonset/daemonset.ts";
import { tellsProvider } from "#controller/objects/daemonset/delivery.ts";
import type { RolloutContext } from "./context.ts";
import {
  type AskedContent,
  contentOf,
  heldContent,
  isNewWish,
  knownOf,
  retrySeconds,
} from "#controller/rollout/halt/halt.ts";
import { hasRolled, readRollouts, type Rollouts } from "#controller/rollout/halt/rollouts.ts";
import { heldByPause } from "./pause.ts";
import {
  registeredAfter,
  registeredBy,
  registersKubelets,
  restartsKubelets,
} from "#controller/rollout/halt/restart-need.ts";
import {
  fatesOf,
  countFates,
  type Fates,
  type Waits,
  type FateCounts,
} from "#controller/rollout/turn/node-state.ts";
import { isOutage } from "#controller/rollout/turn/excuses.ts";
import { restartOf } from "../policy/delivery.ts";
import type { Snapshot } from "#controller/sources/read/snapshot.ts";
import { amongPinned } from "#controller/objects/daemonset/pinned-nodes.ts";
import {
  isEdited,
  isLost,
  isPending,
  readPublished,
  type Published,
} from "../objects/global-secret.ts";
import { decide } from "./decide/decide.ts";
import { readState, type RememberedState } from "../objects/state.ts";
import { takesBack } from "#controller/rollout/halt/source-withdrawal.ts";
import { glance, survey } from "./survey.ts";
import {
  type DaemonSetState,
  isOvertaken,
  type RolloutInput,
  type Turn,
} from "#controller/rollout/turn/turn.ts";

export type Decision = Readonly<{
  turn: Turn;
  fates: Fates;
  counts: FateCounts | undefined;
  published: Published | undefined;
  /** Content to write into global-pull-secret now; undefined when that stays as it is. */
  publish: RevisionContent | undefined;
  state: RememberedState;
  rollouts: Rollouts;
  /** Before this step, a revision above 0 may have reached a node, by what is remembered. */
  rolled: boolean;
  /** After this step, kubelets may have to be told of a provider for what is published. */
  registers: boolean;
  /** Before this step, every node that can be served had the template's revision. */
  complete: boolean;
  /** Before this step, what is wanted was not what is published: a halt or a pause may hold it. */
  waiting: boolean;
}>;

export async function decided(
  context: RolloutContext,
  snapshot: Snapshot,
  wanted: WantedContent,
  daemonSetState: DaemonSetState | undefined,
): Promise<Decision> {
  const published = readPublished(snapshot.global);
  const state = readState(snapshot.state);
  const before = readRollouts(state.halted);
  const template = {
    revision: daemonSetState?.template ?? 0,
    digest: daemonSetState?.digest ?? "",
  };
  const isPaused = context.policy.managementState === "Paused";
  const held = isPaused ? heldByPause(snapshot, { published, state, template }) : undefined;
  const due = held ?? wanted;
  const remain = Object.keys(state.accepted);
  const asked = {
    ...wish(snapshot.additional, due, context),
    takesBack: takesBack(state.served?.sources, due.sources, remain),
  };
  const goal = targetOf(before, asked, due, state.served);
  const pending = isPending(published, goal, template);
  const input = {
    ...(await inputOf(context, { published, state, daemonSetState, before })),
    lost: isLost(published, template) || (isEdited(snapshot.global) && pending),
    pending,
    wanted: goal.intent,
    takesBack: {
      published: takesBack(state.served?.sources, published?.sourcesText, remain),
      wanted: takesBack(published?.sourcesText, due.sources, remain),
    },
    intervalLeft:
      before.halt !== undefined && isNewWish(before.halt, asked)
        ? 0
        : intervalLeft(before, context),
    retrySeconds: retrySeconds(before, asked),
  };
  const { turn, fates, seen } = await decideWith(context, { input, before, asked });
  const halts = turn.kind === "roll" && turn.halt !== undefined;
  const target = halts ? heldContent(state.served) : goal;
  const publish = isPending(published, target, template) && publishesIn(turn) ? target : undefined;
  const current = published && { ...published, sources: published.sourcesText };
  const revision = published?.revision ?? 0;
  const rollouts = remembered(before, asked, {
    turn,
    fates,
    current,
    revision,
    target,
    overtaken: isOvertaken(input),
    takesBack: input.takesBack.published,
  });
  const served =
    wasServed(turn) &&
    current?.intent === "apply" &&
    revision > 0 &&
    revision === daemonSetState?.template;
  const { delivery } = context.agent;
  const now = served
    ? {
        ...contentPart(current),
        revision,
        registered: tellsProvider(snapshot.daemonSet, delivery)
          ? registeredBy(delivery)
          : undefined,
      }
    : undefined;
  const base = now ?? state.served;
  return {
    turn,
    fates,
    counts: seen,
    published,
    publish,
    rollouts,
    rolled: hasRolled(state),
    registers: registersKubelets(delivery, base, publish ?? current),
    complete: input.complete,
    waiting: isPending(published, wanted, template),
    state: {
      ...state,
      halted: rollouts,
      // A withdrawn credential is never given out again, whatever halts later.
      served:
        target.intent === "release" || base === undefined
          ? undefined
          : { ...base, registered: registeredAfter(delivery, base, publish ?? current) },
    },
  };
}

const contentPart = ({ document, sources, intent }: RevisionContent): RevisionContent => ({
  document,
  sources,
  intent,
});

/**
 * What is asked for. Either object may ask for a retry, and another value on one of them is another
 * request.
 */
function wish(
  additional: V1Secret | undefined,
  due: RevisionContent,
  { wishes, now }: Pick<RolloutContext, "wishes" | "now">,
): Omit<AskedContent, "takesBack"> {
  const said = [additional?.metadata?.annotations?.[retryAnnotation] ?? "", wishes.retry];
  const retry = said.filter((one) => one !== "").join(" ");
  return { content: contentOf(due), intent: due.intent, retry, now: now() };
}

/** Seconds until a change may be rolled out, counted from when the last one was. */
export function intervalLeft(
  { rolledAt }: Rollouts,
  { policy, now }: Pick<RolloutContext, "policy" | "now">,
): number {
  if (rolledAt === undefined) return 0;
  const { minIntervalSeconds } = policy.rollout;
  const left = minIntervalSeconds - (now().getTime() - Date.parse(rolledAt)) / 1000;
  // At most the interval: another controller's clock may have been ahead of ours.
  return Math.min(minIntervalSeconds, Math.max(0, left));
}

type Found = Readonly<{
  published: Published | undefined;
  state: RememberedState;
  daemonSetState: DaemonSetState | undefined;
  before: Rollouts;
}>;

/** The part of the input that does not depend on what is wanted. */
async function inputOf(
  context: RolloutContext,
  { published, state, daemonSetState, before }: Found,
) {
  const { agent, cluster, lookout, policy } = context;
  const template = daemonSetState?.template ?? 0;
  const intent = published?.intent ?? "apply";
  const current = published && { ...published, sources: published.sourcesText };
  const idle = { stallSeconds: 0, readySeconds: 0, surveySeconds: 0, calmSeconds: 0 };
  return {
    published: published?.revision ?? 0,
    intent,
    complete: template > 0 && state.served?.revision === template,
    daemonSet: daemonSetState,
    ...(daemonSetState === undefined ? idle : lookout.clocks(daemonSetState)),
    suspicious:
      daemonSetState !== undefined &&
      lookout.glances(daemonSetState) &&
      lookout.suspects(await glance(cluster)),
    haltKnown:
      intent === "hold" ||
      before.halt?.revision === template ||
      (daemonSetState !== undefined && lookout.isTroubled(daemonSetState)),
    counts: undefined,
    ...policy.rollout,
    restarts: restartsKubelets(agent.delivery, state.served, current),
    registers: registersKubelets(agent.delivery, state.served, current),
  };
}

/**
 * Nodes whose kubelets are not restarted. Agents of control-plane nodes decide for themselves, by
 * their kubelet's unit.
 */
function waitsOf(
  { delivery, restartControlPlane }: RolloutContext["agent"],
  { registers, daemonSet }: RolloutInput,
): Waits {
  if (registers && daemonSet?.stage === "canary") return "to be asked";
  if (restartOf(delivery) === "Never") return "everywhere";
  return restartControlPlane === "Never" ? "control plane" : "nowhere";
}

type Question = Readonly<{ input: RolloutInput; before: Rollouts; asked: AskedContent }>;

async function decideWith(context: RolloutContext, { input, before, asked }: Question) {
  const { cluster, agent, lookout } = context;
  const daemonSetState = input.daemonSet;
  const turn = decide(input);
  if (turn.kind !== "survey" || daemonSetState === undefined)
    return { turn, fates: [], seen: undefined };
  // A revision that restarts no kubelet cannot be why a node fell silent.
  const harmless = input.complete || input.intent === "hold";
  const known = { ...knownOf(before, asked), harmless, overtaken: isOvertaken(input) };
  const mark = {
    revision: daemonSetState.template,
    digest: templateDigest(agent),
    complete: harmless,
  };
  const read = async () =>
    amongPinned(await survey(cluster, agent, mark, asked.now.getTime()), agent.pinned);
  const recent = input.suspicious ? undefined : lookout.recent(daemonSetState, input.pending);
  const found = recent ?? lookout.seen(daemonSetState, await read());
  const fates = fatesOf(found, agent.probationSeconds, known, waitsOf(agent, input));
  const seen = countFates(fates, known);
  lookout.judged(fates, isOutage(seen, input, daemonSetState));
  const last = decide({ ...input, counts: seen });
  return { turn: sooner(last, lookout.outdated(daemonSetState)), fates, seen };
}

/**
 * Decides again as soon as another survey may be made, if the last one is older than the counters.
 */
function sooner(turn: Turn, seconds = Number.POSITIVE_INFINITY): Turn {
  return turn.kind === "wait" ? { ...turn, again: Math.min(turn.again, seconds) } : turn;
}

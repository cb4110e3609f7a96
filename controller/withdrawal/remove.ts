/** One step of taking everything away again, after the additional Secret is gone. */
import type { V1ObjectMeta } from "@kubernetes/client-node";
import { accept, type Sources, type Wanted } from "../sources/accept.ts";
import type { RolloutContext } from "../rollout/context.ts";
import { takeStep, type Progress } from "../rollout/step.ts";
import {
  nextWithdrawalStep,
  pauseAfter,
  type WithdrawalInput,
  type WithdrawalStep,
} from "./withdrawal.ts";
import { askedOf, awaitReturn, type Awaited, type Patience } from "./giveback.ts";
import { agentsLeft } from "../rollout/leaving.ts";
import type { Again } from "#kube/loop.ts";
import { recall, remember } from "../objects/annotations.ts";
import { pick } from "#controller/rollout/turn/node-state.ts";
import { withdrawn } from "#controller/sources/read/given.ts";
import { ownedOf, type Snapshot } from "#controller/sources/read/snapshot.ts";
import { isOurs } from "#kube/client/ownership.ts";
import { owned } from "#kube/client/paths.ts";
import { pinnedOf } from "#controller/objects/daemonset/pinned.ts";
import type { Policy } from "../policy/policy.ts";
import { isPending, readPublished, type Published } from "../objects/global-secret.ts";
import { revisionOf } from "#controller/objects/daemonset/daemonset-state.ts";

export type Remover = RolloutContext &
  Patience &
  Readonly<{
    policy: Policy;
    /** How long the removal has been in this state. */
    stillSeconds: (state: string) => number;
  }>;

export type Removal = Readonly<{
  step: WithdrawalStep;
  revision: number;
  /** Until every node has given back our entries. */
  progress: Progress | undefined;
  /**
   * The revision is the one that takes the entries back; before that, the one that was on its way
   * when removal began.
   */
  releasing: boolean;
  /** Every node that we wait for has given back. */
  released: boolean;
  /** Names of the nodes that we stopped waiting for; they may keep our entries. */
  leftBehind: readonly string[];
  /** Names of what we wait for, once nothing has moved for `seconds`. */
  overdue: Readonly<{ waiting: readonly string[]; seconds: number }> | undefined;
  /** Nodes that are away, while we wait for them. */
  awaited: Awaited | undefined;
  /** Agents' pods that we stopped waiting for. */
  abandoned: number;
  /** undefined: as for a rollout. */
  again: Again | undefined;
}>;

/**
 * The content for nodes that were away. After a withdrawal that was asked for, not even
 * global-pull-secret may hold the credential.
 */
const noCredential: Wanted = {
  document: '{"auths":{}}',
  sources: "{}",
  intent: "release",
  entries: 0,
  fromAdditional: 0,
};

/**
 * True when the next step deletes something, or may call the withdrawal done. That takes a fresh
 * read: an informer may lag. Where nothing is left there is nothing to take away.
 */
export function takesAway(found: Snapshot): boolean {
  const snapshot = ours(found);
  if (ownedOf(snapshot).length === 0) return false;
  const status = snapshot.daemonSet?.status;
  const served =
    status !== undefined &&
    status.desiredNumberScheduled === status.updatedNumberScheduled &&
    status.desiredNumberScheduled === (status.numberAvailable ?? 0);
  return served || nextWithdrawalStep(inputOf(snapshot)) !== "release";
}

export async function remove(
  remover: Remover,
  found: Snapshot,
  sources: Sources,
): Promise<Removal> {
  const snapshot = ours(found);
  const {
    cluster,
    policy: {
      withdrawal: { deadlineSeconds },
    },
  } = remover;
  const revision = readPublished(snapshot.global)?.revision ?? 0;
  let next = inputOf(snapshot);
  let step = nextWithdrawalStep(next);
  if (step === "release") return release(remover, snapshot, sources);
  const done: WithdrawalStep[] = [];
  let [still, abandoned] = [0, 0];
  if (step === "await daemonSet") still = remover.stillSeconds(step);
  if (step === "count agents") {
    const left = await agentsLeft(cluster);
    still = remover.stillSeconds(`${step} ${left}`);
    // They have given everything back, so a pod that does not end must not block the rest.
    if (still >= deadlineSeconds) abandoned = left;
    next = { ...next, agents: left - abandoned };
    step = nextWithdrawalStep(next);
  }
  // Steps that need no look in between share a run: each look adds a quarter of a second to the
  // removal.
  while (step.startsWith("delete ")) {
    const name = step.slice("delete ".length) as keyof WithdrawalInput["exists"];
    const { uid = "", resourceVersion } = snapshot[name]?.metadata ?? {};
    await cluster.remove(owned[name], uid, resourceVersion);
    done.push(step);
    if (name === "daemonSet") break;
    next = { ...next, exists: { ...next.exists, [name]: false } };
    step = nextWithdrawalStep(next);
  }
  return {
    ...standing,
    step: done.at(-1) ?? step,
    revision,
    overdue: overdue(remover, still, [
      step === "await daemonSet" ? "the DaemonSet's finalizers" : "agents' pods",
    ]),
    abandoned,
    again: { seconds: pauseAfter(still) },
  };
}

const standing = {
  progress: undefined,
  releasing: false,
  released: false,
  leftBehind: [],
  overdue: undefined,
  awaited: undefined,
  abandoned: 0,
} as const;

function overdue({ policy }: Remover, still: number, waiting: readonly string[]) {
  const seconds = policy.withdrawal.deadlineSeconds;
  return still >= seconds ? { waiting, seconds } : undefined;
}

function inputOf(snapshot: Snapshot): WithdrawalInput {
  const memory = recall(snapshot.global);
  const published = readPublished(snapshot.global);
  return {
    rolled:
      memory.rolled ||
      revisionOf(snapshot.daemonSet) > 0 ||
      (snapshot.global === undefined && snapshot.daemonSet !== undefined),
    released: memory.released === (published?.revision ?? 0) && withdraws(published),
    exists: {
      daemonSet: snapshot.daemonSet !== undefined,
      roleBinding: snapshot.roleBinding !== undefined,
      role: snapshot.role !== undefined,
      serviceAccount: snapshot.serviceAccount !== undefined,
      global: snapshot.global !== undefined,
      state: snapshot.state !== undefined,
    },
    terminating: snapshot.daemonSet?.metadata?.deletionTimestamp !== undefined,
    agents: undefined,
  };
}

async function release(remover: Remover, snapshot: Snapshot, sources: Sources): Promise<Removal> {
  const pinned = pinnedOf(snapshot.daemonSet);
  const { wanted = noCredential } = accept(
    { ...sources, given: withdrawn(sources.given) },
    remover.policy.merge,
  );
  const due = pinned === undefined ? wanted : noCredential;
  // The other nodes are awaited one by one as they return, so there is no outage and no wave.
  const context =
    pinned === undefined
      ? remover
      : {
          ...remover,
          policy: {
            ...remover.policy,
            rollout: { ...remover.policy.rollout, maxUnavailable: "100%" },
          },
          agent: { ...remover.agent, pinned },
        };
  const progress = await takeStep(context, snapshot, due);
  const { revision, turn, view, fates } = progress;
  const releasing = !isPending(readPublished(progress.global), due, { revision: 0, digest: "" });
  const common = { ...standing, step: "release", revision, progress, releasing } as const;
  const counters = [revision, view?.template, view?.desired, view?.updated, view?.available].join(
    "/",
  );
  if (turn.kind !== "served" || !releasing || view?.template !== revision) {
    const waiting = pick(fates, "failed", "stuck", "moving", "waiting").map(({ name }) => name);
    return {
      ...common,
      overdue: overdue(remover, remover.stillSeconds(counters), waiting),
      again: undefined,
    };
  }
  const { lacking, away, beyond } = await askedOf(context, progress);
  const still = remover.stillSeconds(`${counters} ${lacking.length}`);
  if (lacking.length > 0)
    return {
      ...common,
      overdue: overdue(remover, still, lacking),
      again: { seconds: pauseAfter(still) },
    };
  const awaited = await awaitReturn(context, snapshot, away);
  if (awaited !== undefined) return { ...common, awaited, again: { seconds: awaited.seconds } };
  await remember(remover.cluster, progress.global, {
    ...recall(progress.global),
    released: revision,
  });
  return { ...common, released: true, leftBehind: [...away, ...beyond], again: { seconds: 1 } };
}

/** True when the revision withdraws. No other revision can be said to have been given back. */
function withdraws(published: Published | undefined): boolean {
  return published !== undefined && published.revision > 0 && published.intent === "release";
}

/** Only our own objects: a foreign one under one of our names does not block the rest. */
function ours(found: Snapshot): Snapshot {
  return {
    ...found,
    state: keep(found.state),
    global: keep(found.global),
    serviceAccount: keep(found.serviceAccount),
    role: keep(found.role),
    roleBinding: keep(found.roleBinding),
    daemonSet: keep(found.daemonSet),
  };
}

function keep<T extends { metadata?: V1ObjectMeta }>(object: T | undefined): T | undefined {
  return object !== undefined && isOurs(object.metadata) ? object : undefined;
}

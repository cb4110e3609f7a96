/** One step towards every node having what is wanted: Secret, ServiceAccount, Role, RoleBinding, DaemonSet, in this order. */
import type { V1Secret } from "@kubernetes/client-node";
import type { Wanted } from "./accept.ts";
import { daemonSet, templateDigest, type Agent } from "./daemonset.ts";
import { ensure, ensureDaemonSet } from "./ensure.ts";
import type { Cluster } from "./kube.ts";
import { recall, remember, type Memory } from "./memory.ts";
import { nudge, type NudgeClock } from "./nudge.ts";
import { fatesOf, standing, type Fates, type Standing } from "./nodes.ts";
import type { Snapshot } from "./observe.ts";
import { owned } from "./paths.ts";
import { globalSecret, isEdited, isPending, nextRevision, readPublished, type Published } from "./publish.ts";
import { role, roleBinding, serviceAccount } from "./rbac.ts";
import { decide, type DaemonSetView, type Strategy, type Turn } from "./rollout.ts";
import { survey } from "./survey.ts";
import { viewOf } from "./view.ts";

export type Deployment = Readonly<{
  cluster: Cluster;
  agent: Agent;
  maxUnavailable: number | string;
  /** Seconds since the DaemonSet's counters last changed. */
  quietSeconds: (view: DaemonSetView) => number;
  nudgeSeconds: NudgeClock;
  now: () => Date;
}>;

export type Progress = Readonly<{
  turn: Turn;
  /** Of global-pull-secret, after this step. */
  revision: number;
  published: boolean;
  global: V1Secret;
  view: DaemonSetView | undefined;
  /** What became of the nodes, where that had to be asked: with every agent available there is nothing to ask. */
  standing: Standing | undefined;
  fates: Fates;
  /** Seconds until the DaemonSet's controller may have to be asked to look. */
  nudgeIn: number | undefined;
}>;

export async function deploy(deployment: Deployment, snapshot: Snapshot, wanted: Wanted): Promise<Progress> {
  const { cluster, agent } = deployment;
  const published = readPublished(snapshot.global);
  const view = snapshot.daemonSet && viewOf(snapshot.daemonSet, agent);
  const memory = recall(snapshot.global);
  const edited = isEdited(snapshot.global);
  const pending = isPending(published, wanted, view?.template ?? 0);
  const { turn, seen } = await decideTurn(deployment, { published, edited, pending, view, memory });
  const publishes = pending && turn.kind === "roll" && (turn.revision === "published" || turn.revision === 0);
  const revision = publishes ? nextRevision(published, view?.template ?? 0) : (published?.revision ?? 0);
  const content =
    publishes || published === undefined ? wanted : { document: published.document, sources: published.sourcesText };
  const declared = globalSecret({ ...content, revision });
  let global = await ensure<V1Secret>(cluster, owned.global, snapshot.global, declared);
  await ensure(cluster, owned.serviceAccount, snapshot.serviceAccount, serviceAccount);
  await ensure(cluster, owned.role, snapshot.role, role);
  await ensure(cluster, owned.roleBinding, snapshot.roleBinding, roleBinding);
  const target = targetOf(turn, revision, view);
  if (target.template > 0) {
    // Before the template: from here on a node may hold our entries, and removal must ask for them back.
    global = await remember(cluster, global, { ...recall(global), rolled: true });
  }
  const declaredSet = daemonSet(agent, target.template, target.strategy);
  const live = await ensureDaemonSet(cluster, snapshot.daemonSet, declaredSet);
  const nudgeIn = deployment.nudgeSeconds(live);
  if (nudgeIn === 0) await nudge(cluster, live, deployment.now());
  return {
    turn,
    revision,
    published: publishes,
    global,
    view,
    standing: seen && standing(seen),
    fates: seen ?? [],
    nudgeIn,
  };
}

type Facts = {
  published: Published | undefined;
  edited: boolean;
  /** What is wanted is not published yet. */
  pending: boolean;
  view: DaemonSetView | undefined;
  memory: Memory;
};

async function decideTurn(deployment: Deployment, { published, edited, pending, view, memory }: Facts) {
  const { cluster, agent, maxUnavailable } = deployment;
  const template = view?.template ?? 0;
  const rolledOut = memory.conditions.find(({ type, revision }) => type === "RolledOut" && revision === template);
  const input = {
    published: published?.revision ?? 0,
    pending,
    lost: published === undefined || published.revision === 0 || published.revision < template || (edited && pending),
    daemonSet: view,
    quietSeconds: view === undefined ? 0 : deployment.quietSeconds(view),
    haltKnown: rolledOut?.reason === "Halted",
    trialSeconds: agent.minReadySeconds,
    standing: undefined,
    maxUnavailable,
  };
  const turn = decide(input);
  if (turn.kind !== "survey") return { turn, seen: undefined };
  const mark = { revision: template, digest: templateDigest(agent), complete: rolledOut?.status === "True" };
  const seen = fatesOf(await survey(cluster, mark, deployment.now().getTime()), agent.minReadySeconds);
  return { turn: decide({ ...input, standing: standing(seen) }), seen };
}

type Target = { template: number; strategy: Strategy };

function targetOf(turn: Turn, revision: number, view: DaemonSetView | undefined): Target {
  const template = view?.template ?? 0;
  const kept = { stage: view?.stage ?? "wave", maxUnavailable: view?.maxUnavailable ?? 1 } as const;
  switch (turn.kind) {
    case "roll":
      return {
        template: turn.revision === "published" ? revision : turn.revision,
        strategy: turn.strategy,
      };
    case "wait":
    case "served":
      return { template, strategy: turn.strategy };
    case "survey":
      return { template, strategy: kept };
  }
}

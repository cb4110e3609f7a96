/** One step of taking everything away again, after the additional Secret is gone. */
import type { V1ObjectMeta } from "@kubernetes/client-node";
import { accept, type Sources } from "./accept.ts";
import type { MergePolicy } from "../pullsecret/merge.ts";
import { deploy, type Deployment, type Progress } from "./deploy.ts";
import { nextDrainStep, type DrainInput, type DrainStep } from "./drain.ts";
import { recall, remember } from "./memory.ts";
import { pick } from "./nodes.ts";
import type { Snapshot } from "./observe.ts";
import { isOurs } from "./ownership.ts";
import { owned } from "./paths.ts";
import { isPending, readPublished, type Published } from "./publish.ts";
import { countAgents } from "./survey.ts";
import { revisionOf } from "./view.ts";

export type Removal = Readonly<{
  step: DrainStep;
  revision: number;
  /** Until every node has given back our entries. */
  progress: Progress | undefined;
  /** The revision is the one that takes the entries back; before that, the one that was on its way when removal began. */
  releasing: boolean;
  /** Names of dead nodes, which keep our entries; known when the last living node has given them back. */
  leftBehind: readonly string[];
}>;

/**
 * True when the next step deletes something, or may call the drain done. A mirror's word, which may be a moment old, is not
 * enough for that.
 */
export function takesAway(found: Snapshot): boolean {
  const { desiredNumberScheduled, updatedNumberScheduled, numberAvailable } = found.daemonSet?.status ?? {};
  const served = desiredNumberScheduled === updatedNumberScheduled && desiredNumberScheduled === numberAvailable;
  return served || nextDrainStep(inputOf(ours(found))) !== "release";
}

export async function remove(
  deployment: Deployment,
  found: Snapshot,
  sources: Sources,
  policy: MergePolicy,
): Promise<Removal> {
  const snapshot = ours(found);
  const { cluster } = deployment;
  const revision = readPublished(snapshot.global)?.revision ?? 0;
  let next = inputOf(snapshot);
  let step = nextDrainStep(next);
  if (step === "count agents") {
    next = { ...next, agents: await countAgents(cluster) };
    step = nextDrainStep(next);
  }
  if (step === "release") return release(deployment, snapshot, sources, policy);
  const done: DrainStep[] = [];
  // What needs no look in between goes in one run: each look costs a quarter of a second, of the time a removal takes.
  while (step.startsWith("delete ")) {
    const name = step.slice("delete ".length) as keyof DrainInput["exists"];
    await cluster.remove(owned[name], snapshot[name]?.metadata?.uid ?? "");
    done.push(step);
    if (name === "daemonSet") break;
    next = { ...next, exists: { ...next.exists, [name]: false } };
    step = nextDrainStep(next);
  }
  return { step: done.at(-1) ?? step, revision, progress: undefined, releasing: false, leftBehind: [] };
}

function inputOf(snapshot: Snapshot): DrainInput {
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
    },
    terminating: snapshot.daemonSet?.metadata?.deletionTimestamp !== undefined,
    agents: undefined,
  };
}

async function release(
  deployment: Deployment,
  snapshot: Snapshot,
  sources: Sources,
  policy: MergePolicy,
): Promise<Removal> {
  const { wanted } = accept({ ...sources, additional: undefined }, policy);
  if (wanted === undefined) throw new Error("an absent additional Secret is always acceptable");
  const progress = await deploy(deployment, snapshot, wanted);
  const { revision, turn, fates } = progress;
  const leftBehind = turn.kind === "served" ? pick(fates, "dead").map(({ name }) => name) : [];
  if (turn.kind === "served") {
    await remember(deployment.cluster, progress.global, { ...recall(progress.global), released: revision });
  }
  const releasing = !isPending(readPublished(progress.global), wanted, 0);
  return { step: "release", revision, progress, releasing, leftBehind };
}

/** Of any other revision nobody may say that it has been given back. */
function withdraws(published: Published | undefined): boolean {
  return published !== undefined && published.revision > 0 && !Object.values(published.sources).includes("additional");
}

/** Only what is ours: a foreign object under one of our names does not keep the rest. */
function ours(found: Snapshot): Snapshot {
  return {
    ...found,
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

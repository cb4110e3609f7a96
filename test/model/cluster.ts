/** Clusters of the model in which every node has the served revision. */
import type { View } from "#controller/rollout/facts.ts";
import { decided, type Drive } from "./product.ts";
import { keyOf, servedDigest, wantedDigest, type Grant, type World } from "./world.ts";
import { newPod } from "./kubelet.ts";
import { bury, churn, newWorld, tick, type Plan } from "./schedules.ts";

type Size = Readonly<{ seed: number; nodes: number; budget: number; churn?: number }>;

const planOfSize = ({ seed, nodes, budget, churn: rate = 0 }: Size): Plan => ({
  seed,
  nodes,
  budget,
  maxFailures: 0,
  minInterval: 0,
  mode: "Restart",
  churn: rate,
  events: [],
  end: 0,
});

/** A cluster in which nothing is installed yet. */
export const emptyCluster = (size: Size): World => newWorld(planOfSize(size));

/** A cluster in which revision 3 is served, and every node proved it long ago. */
export function servedCluster(size: Size): World {
  const w = emptyCluster(size);
  const { api } = w;
  const digest = wantedDigest(api);
  api.ds = { template: api.want };
  api.secret = { rev: 3, digest, mode: "Restart", served: 3, servedDigest: "", at: -10_000 };
  api.state = { ...api.state, rev: 3, word: true, base: 0 };
  w.truth.proved.add(`${digest}Restart`);
  for (const m of w.machines.values()) {
    const grant: Grant = { rev: 3, digest, since: -9000, word: false };
    const pod = Object.assign(newPod(w, m.name, api.want.n), { grant, ready: true, since: -8000 });
    api.pods.set(m.name, pod);
    const mode = "Restart" as const;
    Object.assign(m, { file: digest, loaded: digest, ready: true, since: -8000, running: true });
    Object.assign(m, { podUid: pod.uid, template: pod.template, answered: true });
    Object.assign(m, {
      seen: keyOf(grant),
      mountAt: m.id % 90,
      patchSeen: JSON.stringify(grant) + 0,
    });
    m.mount = { secret: { ...api.secret }, grant };
    m.journal = { rev: 3, digest, mode, begun: null, said: "", quarantine: "" };
    const node = api.nodes.get(m.name);
    if (node) node.created = -20_000;
    pod.created = -10_000;
  }
  return w;
}

/**
 * Runs the cluster until the condition is true. Returns the seconds, or Infinity after `most`
 * seconds.
 */
export function until(w: World, driver: Drive, most: number, isOver: () => boolean): number {
  const from = w.t;
  for (; w.t <= from + most; w.t++) {
    if (w.churn) churn(w);
    bury(w);
    tick(w, driver);
    if (isOver()) return w.t++ - from;
  }
  return Number.POSITIVE_INFINITY;
}

export const pass = (w: World, driver: Drive, seconds: number): number =>
  until(w, driver, seconds - 1, () => false);

/** The number of machines that have the content in their file and in their kubelet. */
export const having = (w: World, digest: string): number =>
  [...w.machines.values()].filter((m) => m.file === digest && m.loaded === digest).length;

/** Makes this many machines unable to start their agent, or leaves them without a pod. */
export function withUnstartable(w: World, count: number, why: "image" | "podless"): void {
  for (const m of [...w.machines.values()].slice(0, count)) m.unstartable = why;
}

/** The view that the product's decision has at this moment. */
export const lastView = (w: World): View => decided(w, w.api, {}).view;

/** The content that new nodes get. */
export const served = ({ api }: World): string =>
  api.secret === null ? "nothing" : servedDigest(api.secret);

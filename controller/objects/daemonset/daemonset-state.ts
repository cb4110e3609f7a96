/** The live DaemonSet in the words of the rollout's decision. */
import type { V1DaemonSet } from "@kubernetes/client-node";
import { digestAnnotation, revisionAnnotation } from "#contract/names.ts";
import type { Agent } from "./agent.ts";
import { daemonSet } from "./daemonset.ts";
import { annotationOf, annotations } from "#kube/client/ownership.ts";
import type { Strategy } from "#controller/rollout/turn/strategy.ts";
import type { DaemonSetState } from "#controller/rollout/turn/turn.ts";

/** `drifted`: a write of `declaredAsIs` would change the live spec, as the API server said. */
export function daemonSetState(live: V1DaemonSet, drifted: boolean): DaemonSetState {
  const { status, metadata } = live;
  return {
    ...contentOf(live),
    ...strategyOf(live),
    drifted,
    observed: (status?.observedGeneration ?? 0) >= (metadata?.generation ?? 0),
    desired: status?.desiredNumberScheduled ?? 0,
    updated: status?.updatedNumberScheduled ?? 0,
    ready: status?.numberReady ?? 0,
    available: status?.numberAvailable ?? 0,
  };
}

/** What we declare when the revision and the way to bring it are to stay as they are. */
export function declaredAsIs(live: V1DaemonSet, agent: Agent): V1DaemonSet {
  const { template, digest } = contentOf(live);
  return daemonSet(agent, { revision: template, digest }, strategyOf(live));
}

function contentOf(live: V1DaemonSet) {
  const digest = annotationOf(live.spec?.template.metadata, digestAnnotation) ?? "";
  return { template: revisionOf(live), digest };
}

function strategyOf({ metadata, spec }: V1DaemonSet): Strategy {
  const stage = annotationOf(metadata, annotations.stage) === "canary" ? "canary" : "wave";
  const { maxUnavailable = 1 } = spec?.updateStrategy?.rollingUpdate ?? {};
  // Somebody's edit, together with a surge: without one the API server refuses it.
  return {
    stage,
    maxUnavailable: Number.parseInt(String(maxUnavailable), 10) === 0 ? 1 : maxUnavailable,
  };
}

/** The revision in the template; 0 when there is none or it was edited into nonsense. */
export function revisionOf(live: V1DaemonSet | undefined): number {
  const text = annotationOf(live?.spec?.template.metadata, revisionAnnotation) ?? "";
  return /^\d{1,15}$/.test(text) ? Number(text) : 0;
}

/** The live DaemonSet, in the terms of the rollout's decision. */
import type { V1DaemonSet } from "@kubernetes/client-node";
import { digestAnnotation, revisionAnnotation } from "#contract/names.ts";
import type { Agent } from "./agent.ts";
import { daemonSet } from "./daemonset.ts";
import { annotationOf, annotations } from "./annotation-names.ts";
import type { Strategy } from "#controller/rollout/turn/strategy.ts";
import type { DaemonSetState } from "#controller/rollout/turn/turn.ts";

/**
 * The state of the live DaemonSet. `drifted`: the API server said that a write of `declaredAsIs`
 * would change its spec.
 */
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

/** The DaemonSet that we declare when its revision and strategy are to stay as they are. */
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
  // Somebody edited it together with a surge, without which the API server refuses 0.
  return {
    stage,
    maxUnavailable: Number.parseInt(String(maxUnavailable), 10) === 0 ? 1 : maxUnavailable,
  };
}

/** The revision in the template; 0 where there is none, or it was edited into something else. */
export function revisionOf(live: V1DaemonSet | undefined): number {
  const text = annotationOf(live?.spec?.template.metadata, revisionAnnotation) ?? "";
  return /^\d{1,15}$/.test(text) ? Number(text) : 0;
}

/** The live DaemonSet in the words of the rollout's decision. */
import type { V1DaemonSet } from "@kubernetes/client-node";
import { revisionAnnotation } from "../pullsecret/names.ts";
import { contains } from "./contains.ts";
import { daemonSet, type Agent } from "./daemonset.ts";
import { hasForeignSpec } from "./ensure.ts";
import { annotations } from "./ownership.ts";
import type { DaemonSetView } from "./rollout.ts";

export function viewOf(live: V1DaemonSet, agent: Agent): DaemonSetView {
  const { spec, status, metadata } = live;
  const template = revisionOf(live);
  const stage = metadata?.annotations?.[annotations.stage] === "canary" ? "canary" : "wave";
  const maxUnavailable = spec?.updateStrategy?.rollingUpdate?.maxUnavailable ?? 1;
  const declared = daemonSet(agent, template, { stage, maxUnavailable });
  return {
    template,
    drifted: !contains(live.spec, declared.spec) || hasForeignSpec(metadata),
    stage,
    maxUnavailable,
    observed: (status?.observedGeneration ?? 0) >= (metadata?.generation ?? 0),
    desired: status?.desiredNumberScheduled ?? 0,
    updated: status?.updatedNumberScheduled ?? 0,
    available: status?.numberAvailable ?? 0,
  };
}

/** The revision in the template; 0 when there is none or it was edited into nonsense. */
export function revisionOf(live: V1DaemonSet | undefined): number {
  const text = live?.spec?.template.metadata?.annotations?.[revisionAnnotation] ?? "";
  return /^\d{1,15}$/.test(text) ? Number(text) : 0;
}

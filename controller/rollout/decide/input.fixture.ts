/** For tests: what a decision is asked about, each with its changes to a wave of 20 nodes. */
import { countFates, type FateCounts } from "#controller/rollout/turn/node-state.ts";
import type { DaemonSetState, RolloutInput } from "#controller/rollout/turn/turn.ts";

/** Every node has the template. */
export const daemonSetState = (changes: Partial<DaemonSetState> = {}): DaemonSetState => ({
  digest: "",
  template: 4,
  drifted: false,
  stage: "wave",
  maxUnavailable: "10%",
  observed: true,
  desired: 20,
  updated: 20,
  ready: 20,
  available: 20,
  ...changes,
});

/** Nothing is to be done. */
export const input = (changes: Partial<RolloutInput> = {}): RolloutInput => ({
  published: 4,
  pending: false,
  intent: "apply",
  wanted: "apply",
  takesBack: { published: false, wanted: false },
  lost: false,
  complete: false,
  daemonSet: daemonSetState(),
  stallSeconds: 0,
  readySeconds: 3,
  surveySeconds: 0,
  calmSeconds: Number.POSITIVE_INFINITY,
  suspicious: false,
  haltKnown: false,
  probationSeconds: 5,
  intervalLeft: 0,
  retrySeconds: 0,
  counts: undefined,
  maxUnavailable: "10%",
  restarts: true,
  registers: false,
  maxFailures: 0,
  ...changes,
});

/** A survey of 20 nodes of which nothing is known. */
export const counts = (changes: Partial<FateCounts> = {}): FateCounts => ({
  ...countFates([]),
  total: 20,
  ...changes,
});

/** Which nodes count: pure judgements over a survey. */
import type { AgentPod, Survey, SurveyedNode } from "./survey.ts";

/** An agent that is not available this long after its pod was made, and the trial, is stuck: image, volume, quarantine or kubelet. */
const stuckSeconds = 60;

/** What became of a node under the DaemonSet's present template. */
export type Fate =
  /** It has the revision, and its kubelet stayed well. */
  | "served"
  /** Nobody can serve it now; it catches up when it returns. It neither eats the budget nor holds anything up. */
  | "dead"
  /** The agent gave up, and said why. */
  | "failed"
  /** An agent of this template has been unavailable for long. */
  | "stuck"
  /** Not reached yet; it works under the template before. */
  | "waiting"
  /** Something is going on. */
  | "moving";

export type Standing = Readonly<Record<Fate | "total", number>>;

/** Fate by node, in the survey's order. */
export type Fates = readonly (readonly [SurveyedNode, Fate])[];

/** `trialSeconds`: for how long a restarted kubelet is watched before its agent is Ready. */
export function fatesOf(survey: Survey, trialSeconds: number): Fates {
  // As long as no container of the template ever ran, its image is the suspect, not the nodes.
  const runs = survey.some(({ agent }) => agent?.current === true && agent.started);
  return survey.map((node) => [node, fateOf(node, runs, stuckSeconds + trialSeconds)] as const);
}

export function standing(fates: Fates): Standing {
  const counts = { total: fates.length, served: 0, dead: 0, failed: 0, stuck: 0, waiting: 0, moving: 0 };
  for (const [, fate] of fates) counts[fate] += 1;
  return counts;
}

/** The nodes of these fates, the first fate first. */
export function pick(fates: Fates, ...wanted: readonly Fate[]): SurveyedNode[] {
  return wanted.flatMap((one) => fates.filter(([, fate]) => fate === one).map(([node]) => node));
}

function fateOf({ agent, silent }: SurveyedNode, runs: boolean, patience: number): Fate {
  if (agent?.available) return agent.current ? "served" : "waiting";
  if (silent && !isSuspect(agent)) return "dead";
  if (!agent?.current) return "moving";
  if (agent.gaveUp) return "failed";
  if (agent.ageSeconds < patience) return "moving";
  // It cannot even be started here, though it can elsewhere, so it has touched nothing.
  return runs && !agent.started ? "dead" : "stuck";
}

/**
 * The node fell silent under the present template, which may be why: called dead, it would send a revision that kills
 * kubelets on to the next node.
 */
function isSuspect(agent: AgentPod | undefined): boolean {
  return agent !== undefined && agent.current && agent.started && !agent.proved;
}

/** What became of each node: pure judgements over a survey. */
import { askingSeconds, rereadSeconds } from "#contract/names.ts";
import type { AgentPod, Survey, SurveyedNode } from "./surveyed.ts";

/**
 * An agent that is not available this long after its pod was made, and the probation, is stuck:
 * image, volume, quarantine or kubelet.
 */
const stuckSeconds = 60;
/**
 * Unavailable for so long without a break, where others have the template: the node is odd, and
 * holds nobody up.
 */
const excusedSeconds = 300;

/**
 * Without any pod for so long, where others have the template: the pod is not let in there, and
 * nothing was touched.
 */
const podlessSeconds = 60;

/** What became of a node under the DaemonSet's present template. */
export type Fate =
  /** It has the revision, and its kubelet stayed well. */
  | "served"
  /**
   * Nobody can serve it now; it catches up when it returns. It neither eats the budget nor holds
   * anything up.
   */
  | "unreachable"
  /** The agent found the node unfit, said why, and touched nothing. It holds nobody up. */
  | "refused"
  /** It lives and cannot be served, for long or since before this template. It holds nobody up. */
  | "excused"
  /** The agent gave up, and said why. */
  | "failed"
  /** An agent of this template has been unavailable for a minute or more. */
  | "stuck"
  /** Not reached yet; it works under the template before. */
  | "waiting"
  /** Something is going on. */
  | "moving";

export type Standing = Readonly<Record<Fate | "total" | "out" | "fallen", number>>;

/** Fate by node, in the survey's order. */
export type Fates = readonly (readonly [SurveyedNode, Fate])[];

/** Names of nodes whose trouble is no news. */
export type Known = Readonly<{
  /** Unavailable, though alive, when the present template came. */
  excused: ReadonlySet<string>;
  /** Failed with the content that is being tried again. */
  failed: ReadonlySet<string>;
  /**
   * What the template says was served before, or restarts nobody: who does not get along with it is
   * odd, though alone.
   */
  harmless: boolean;
  /**
   * What is published is newer than the template, whose agents wait for it: they are not at fault.
   */
  overtaken: boolean;
}>;

export const nobody: Known = {
  excused: new Set(),
  failed: new Set(),
  harmless: false,
  overtaken: false,
};

/**
 * On which nodes no kubelet is restarted: a running agent is Ready only when its kubelet must have
 * read the file by itself. `to be asked`: one that was told of a provider is Ready when it has
 * asked it.
 */
export type Waits = "everywhere" | "control plane" | "nowhere" | "to be asked";

/** `probationSeconds`: for how long a restarted kubelet is watched before its agent is Ready. */
export function fatesOf(
  survey: Survey,
  probationSeconds: number,
  known: Known = nobody,
  waits: Waits = "nowhere",
): Fates {
  // As long as no container of the template ever ran, its image is the suspect, not the nodes.
  const runs = survey.some(({ agent }) => agent?.current === true && agent.started);
  // As long as nobody has it available, neither is a node that has not.
  const held = survey.some(({ agent }) => agent?.current === true && agent.available);
  const patience = stuckSeconds + probationSeconds;
  const context = { known, patience, runs, waits, held: held || (runs && known.harmless) };
  return survey.map((node) => [node, fateOf(node, context)] as const);
}

/**
 * A node that has been silent for longer is switched off: what it does when it returns is no
 * outage's end.
 */
const switchedOffSeconds = 3600;

export function standing(fates: Fates, known: Known = nobody): Standing {
  const none = { served: 0, waiting: 0, moving: 0, unreachable: 0 };
  const counts: Record<Fate, number> = { ...none, refused: 0, excused: 0, failed: 0, stuck: 0 };
  for (const [, fate] of fates) counts[fate] += 1;
  return {
    ...counts,
    total: fates.length,
    out: count(fates, isOut),
    fallen: count(fates, hasFallen(known)),
  };
}

const count = (fates: Fates, is: (one: Fates[number]) => boolean) => fates.filter(is).length;

/** Away, or excused without having said why: too many of these are an outage, not odd nodes. */
function isOut([{ silentSeconds }, fate]: Fates[number]): boolean {
  return fate === "excused" || (fate === "unreachable" && silentSeconds < switchedOffSeconds);
}

/**
 * Worked under the template before until lately: the DaemonSet controller replaces its agent beside
 * the budget.
 */
function hasFallen({ excused }: Known) {
  return ([{ name, agent, silentSeconds }, fate]: Fates[number]): boolean =>
    !excused.has(name) &&
    ((fate === "unreachable" && silentSeconds < excusedSeconds) ||
      (fate === "moving" && agent?.current === false));
}

/** The nodes of these fates, the first fate first. */
export function pick(fates: Fates, ...wanted: readonly Fate[]): SurveyedNode[] {
  return wanted.flatMap((one) => fates.filter(([, fate]) => fate === one).map(([node]) => node));
}

type Context = Readonly<{
  known: Known;
  patience: number;
  runs: boolean;
  held: boolean;
  waits: Waits;
}>;

function fateOf(node: SurveyedNode, { known, patience, runs, held, waits }: Context): Fate {
  const { name, agent, silent } = node;
  if (agent?.available) return agent.current ? "served" : "waiting";
  if (silent && !isSuspect(agent)) return "unreachable";
  if (agent === undefined && held && node.podlessSeconds >= podlessSeconds) return "unreachable";
  if (!agent?.current) return known.excused.has(name) ? "excused" : "moving";
  if (agent.refused) return "refused";
  if (known.overtaken && !agent.gaveUp) return agent.ageSeconds < patience ? "moving" : "stuck";
  if (known.excused.has(name)) return "excused";
  if (agent.gaveUp) return known.failed.has(name) ? "excused" : "failed";
  const longer = agent.running ? secondsOf(waits, node) : 0;
  if (agent.ageSeconds < patience + longer) return "moving";
  if (known.failed.has(name) || (held && agent.unavailableSeconds >= excusedSeconds + longer))
    return "excused";
  // It cannot even be started here, though it can elsewhere, so it has touched nothing.
  return runs && !agent.started ? "unreachable" : "stuck";
}

function secondsOf(waits: Waits, { controlPlane }: SurveyedNode): number {
  if (waits === "to be asked") return askingSeconds;
  return waits === "everywhere" || (waits === "control plane" && controlPlane) ? rereadSeconds : 0;
}

/**
 * The node fell silent under the present template, which may be why: called dead, it would send a
 * revision that kills kubelets on to the next node.
 */
function isSuspect(agent: AgentPod | undefined): boolean {
  return agent !== undefined && agent.current && agent.started && !agent.proved;
}

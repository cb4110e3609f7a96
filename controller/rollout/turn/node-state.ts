/** What became of each node: pure judgements over a survey. */
import { askingSeconds, rereadSeconds } from "#contract/names.ts";
import type { AgentPod, Survey, SurveyedNode } from "./survey-result.ts";

/**
 * Seconds after its pod's creation, besides the probation, at which an unavailable agent is stuck:
 * by its image, a volume, quarantine or the kubelet.
 */
const stuckSeconds = 60;
/**
 * Seconds without a break after which an unavailable node is odd, if others have the template. It
 * holds up no other node.
 */
const excusedSeconds = 300;

/**
 * Seconds without any pod after which a node is unreachable, if others have the template: the pod
 * is not let in there, and nothing was touched.
 */
const podlessSeconds = 60;

/** What became of a node under the DaemonSet's present template. */
export type Fate =
  /** It has the revision, and its kubelet stayed well. */
  | "served"
  /**
   * It cannot be served now, and catches up when it returns. It neither uses the budget nor holds
   * up other nodes.
   */
  | "unreachable"
  /** The agent found the node unfit, said why, and touched nothing. It holds up no other node. */
  | "refused"
  /**
   * It is alive but cannot be served, for long or since before this template. It holds up no other
   * node.
   */
  | "excused"
  /** The agent gave up and said why. */
  | "failed"
  /** An agent of this template has been unavailable for a minute or more. */
  | "stuck"
  /** Not reached yet; its agent works under the previous template. */
  | "waiting"
  /** Its agent is being replaced or started, and nothing tells yet how that ends. */
  | "moving";

export type FateCounts = Readonly<Record<Fate | "total" | "out" | "fallen", number>>;

/** Each node with its fate, in the survey's order. */
export type Fates = readonly (readonly [SurveyedNode, Fate])[];

/**
 * What excuses a node's trouble: names of nodes whose trouble is known, and what is known of the
 * template.
 */
export type Excuses = Readonly<{
  /** Alive but unavailable when the present template came. */
  excused: ReadonlySet<string>;
  /** Failed with the content that is being tried again. */
  failed: ReadonlySet<string>;
  /**
   * The template's content was served before, or restarts no kubelet. A node that fails with it is
   * odd, even if no other node has it.
   */
  harmless: boolean;
  /**
   * The published revision is newer than the template, whose agents wait for it. That is not their
   * fault.
   */
  overtaken: boolean;
}>;

export const nobody: Excuses = {
  excused: new Set(),
  failed: new Set(),
  harmless: false,
  overtaken: false,
};

/**
 * Nodes on which no kubelet is restarted. There a running agent turns Ready only once its kubelet
 * must have read the file by itself. `to be asked`: an agent that told its kubelet of a provider
 * turns Ready once the kubelet has asked it.
 */
export type Waits = "everywhere" | "control plane" | "nowhere" | "to be asked";

/**
 * The fate of each node. `probationSeconds`: how long a restarted kubelet is watched before its
 * agent is Ready.
 */
export function fatesOf(
  survey: Survey,
  probationSeconds: number,
  known: Excuses = nobody,
  waits: Waits = "nowhere",
): Fates {
  // Until a container of the template has run anywhere, its image is the suspect, not the nodes.
  const runs = survey.some(({ agent }) => agent?.current === true && agent.started);
  // Until an agent of the template is available anywhere, no node is excused for lacking one.
  const held = survey.some(({ agent }) => agent?.current === true && agent.available);
  const patience = stuckSeconds + probationSeconds;
  const context = { known, patience, runs, waits, held: held || (runs && known.harmless) };
  return survey.map((node) => [node, fateOf(node, context)] as const);
}

/**
 * Seconds of silence after which a node counts as switched off. What it does when it returns ends
 * no outage.
 */
const switchedOffSeconds = 3600;

export function countFates(fates: Fates, known: Excuses = nobody): FateCounts {
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

/**
 * True for a node that is away, or excused without having said why. Too many of these are an
 * outage, not odd nodes.
 */
function isOut([{ silentSeconds }, fate]: Fates[number]): boolean {
  return fate === "excused" || (fate === "unreachable" && silentSeconds < switchedOffSeconds);
}

/**
 * True for a node that worked under the previous template until lately. The DaemonSet controller
 * replaces its agent beside the budget.
 */
function hasFallen({ excused }: Excuses) {
  return ([{ name, agent, silentSeconds }, fate]: Fates[number]): boolean =>
    !excused.has(name) &&
    ((fate === "unreachable" && silentSeconds < excusedSeconds) ||
      (fate === "moving" && agent?.current === false));
}

/** The nodes of these fates, those of the first fate first. */
export function pick(fates: Fates, ...wanted: readonly Fate[]): SurveyedNode[] {
  return wanted.flatMap((one) => fates.filter(([, fate]) => fate === one).map(([node]) => node));
}

type Context = Readonly<{
  known: Excuses;
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
  // Where it worked once, it is as young as its trouble: the pods of nodes that were missed turn
  // NotReady all at once, and Ready again when their kubelets watch again (docs/decisions/0047).
  const seconds = known.harmless ? agent.unavailableSeconds : agent.ageSeconds;
  if (seconds < patience + longer) return "moving";
  if (known.failed.has(name) || (held && agent.unavailableSeconds >= excusedSeconds + longer))
    return "excused";
  // The container cannot even start here, though it can elsewhere, so it has touched nothing.
  return runs && !agent.started ? "unreachable" : "stuck";
}

function secondsOf(waits: Waits, { controlPlane }: SurveyedNode): number {
  if (waits === "to be asked") return askingSeconds;
  return waits === "everywhere" || (waits === "control plane" && controlPlane) ? rereadSeconds : 0;
}

/**
 * True when the present template may be why the node fell silent. Calling it unreachable would send
 * a revision that kills kubelets on to the next node.
 */
function isSuspect(agent: AgentPod | undefined): boolean {
  return agent !== undefined && agent.current && agent.started && !agent.proved;
}

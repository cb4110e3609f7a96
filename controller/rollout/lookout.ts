/**
 * What this process remembers of its looks at the DaemonSet and its nodes. A restart forgets it,
 * which only makes the next look come sooner.
 */
import type { Fates } from "#controller/rollout/turn/node-state.ts";
import { glancePause, leastSeconds, surveyPause } from "#controller/rollout/turn/patience.ts";
import { stallClock, readyClock } from "./clocks.ts";
import type { Survey } from "#controller/rollout/turn/survey-result.ts";
import { type DaemonSetState, provedBy, type RolloutInput } from "#controller/rollout/turn/turn.ts";

type Clocks = Pick<RolloutInput, "stallSeconds" | "readySeconds" | "surveySeconds" | "calmSeconds">;

export type Lookout = Readonly<{
  clocks: (daemonSetState: DaemonSetState) => Clocks;
  /** The last survey, as long as another one would not tell more. */
  recent: (daemonSetState: DaemonSetState, pending: boolean) => Survey | undefined;
  /**
   * Seconds until another survey may be made, where the counters have changed since the last one.
   */
  outdated: (daemonSetState: DaemonSetState) => number | undefined;
  /**
   * Keeps a survey, and returns it with what earlier ones knew: how long a node has been
   * unavailable, or without a pod.
   */
  seen: (daemonSetState: DaemonSetState, survey: Survey) => Survey;
  /** True when it is time, in a wave, to look for agents that have ended. */
  glances: (daemonSetState: DaemonSetState) => boolean;
  /** Takes the agents that have ended; true when one of them is new. */
  suspects: (ended: readonly string[]) => boolean;
  /** True when the last survey under this template found failed or stuck nodes. */
  isTroubled: (daemonSetState: DaemonSetState) => boolean;
  /**
   * Takes what became of the nodes, and whether too many are away. While something is going on
   * there, the next survey comes sooner.
   */
  judged: (fates: Fates, outage: boolean) => void;
}>;

/**
 * `seconds`: a clock that never goes back, so that no survey is believed for as long as a clock was
 * set back. `backSeconds`: since the API server came back from an absence in which nodes may be
 * missed.
 */
export function createLookout(
  seconds: () => number,
  backSeconds = () => Number.POSITIVE_INFINITY,
): Lookout {
  const stalledFor = stallClock(seconds);
  const readySince = readyClock(seconds);
  const unavailableSince = new Map<string, number>();
  const podlessSince = new Map<string, number>();
  let last: { survey: Survey; at: number; key: string; template: number } | undefined;
  let transient = 0;
  let troubled = false;
  let outage = Number.NEGATIVE_INFINITY;
  let ended: ReadonlySet<string> = new Set();
  let glanced = seconds();
  const age = () => (last === undefined ? Number.POSITIVE_INFINITY : seconds() - last.at);

  return {
    clocks: (daemonSetState) => ({
      stallSeconds: stalledFor(daemonSetState),
      readySeconds: readySince(daemonSetState),
      surveySeconds: age(),
      calmSeconds: Math.min(backSeconds(), seconds() - outage),
    }),

    recent(daemonSetState, pending) {
      if (last === undefined || last.template !== daemonSetState.template) return undefined;
      const pause =
        last.key === keyOf(daemonSetState) ? surveyPause(transient, pending) : leastSeconds;
      return age() < pause ? last.survey : undefined;
    },

    outdated(daemonSetState) {
      const left = leastSeconds - age();
      return last === undefined || last.key === keyOf(daemonSetState) || left <= 0
        ? undefined
        : left;
    },

    seen(daemonSetState, survey) {
      const at = seconds();
      const missing = new Set<string>();
      const patient = survey.map((node) => {
        const { name, agent } = node;
        if (agent !== undefined) podlessSince.delete(name);
        else {
          const since = podlessSince.get(name) ?? at;
          podlessSince.set(name, since);
          return { ...node, podlessSeconds: at - since };
        }
        if (agent.available) return node;
        missing.add(name);
        const since = unavailableSince.get(name) ?? at;
        unavailableSince.set(name, since);
        const lasted = Math.min(agent.ageSeconds, at - since);
        return {
          ...node,
          agent: { ...agent, unavailableSeconds: Math.max(agent.unavailableSeconds, lasted) },
        };
      });
      for (const name of unavailableSince.keys())
        if (!missing.has(name)) unavailableSince.delete(name);
      const present = new Set(survey.map(({ name }) => name));
      for (const name of podlessSince.keys()) if (!present.has(name)) podlessSince.delete(name);
      last = { survey: patient, at, key: keyOf(daemonSetState), template: daemonSetState.template };
      return patient;
    },

    glances({ template, desired, updated }) {
      const moves = template > 0 && updated < desired;
      if (!moves) glanced = seconds();
      return moves && seconds() - glanced >= glancePause(desired);
    },

    suspects(found) {
      glanced = seconds();
      const fresh = found.some((one) => !ended.has(one));
      ended = new Set(found);
      return fresh;
    },

    isTroubled: ({ template }) => troubled && last?.template === template,

    judged(fates, isOutage) {
      if (isOutage) outage = seconds();
      troubled = fates.some(([, fate]) => fate === "failed" || fate === "stuck");
      transient = fates.filter(([, fate]) => fate === "moving" || fate === "stuck").length;
    },
  };
}

function keyOf(state: DaemonSetState): string {
  const { desired, updated, observed, stage, maxUnavailable } = state;
  return [desired, updated, provedBy(state), observed, stage, maxUnavailable].join("/");
}

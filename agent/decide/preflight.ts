/**
 * Whether a node is fit to be touched. Pure: facts → the first reason why not. Asked before
 * the first record on a node, so that unfit nodes are known, and again before each change.
 *
 * Each reason is one that a restart would find out too late. If healthz is off or on another port,
 * the kubelet would be restarted until it answers, which it never does. A unit that is dead while
 * our container runs is not the kubelet's, or somebody stopped it, and a restart would start it.
 */
import { auto } from "#contract/values.ts";
import type { Facts } from "../facts/facts.ts";
import type { Plan } from "../delivery/delivery.ts";
import { unitMissing } from "../restart/restart.ts";
import { isRunning, unitOf } from "../facts/kubelet-state.ts";
import { type Answer, ask, fast, refuse, resync, soon, type Step, wait } from "../facts/step.ts";
import { codes } from "../facts/problems.ts";

/**
 * What to do instead of touching the node; undefined if it is fit. `planned`: what is to be done to
 * it, where that is known.
 */
export function preflight(facts: Facts, planned?: Plan): Answer | undefined {
  const { journal, file } = facts;
  if (journal.kind === "newer") return refuse(codes.newerJournal, resync, journal.why);
  if (facts.elsewhere !== undefined) return refuse(codes.elsewhere, resync, facts.elsewhere);
  if (file.kind === "changing") return wait(codes.changedMeanwhile, fast);
  if (file.kind === "refused") return refuse(codes.unsafe, soon, file.why);
  if (facts.hides === undefined) return ask("fitness");
  return kubeletAbsent(facts) ?? hiding(facts, planned);
}

/** The same for a node that is granted nothing yet: it also lacks what the delivery needs. */
export function unfitness(facts: Facts): Answer | undefined {
  return preflight(facts) ?? broken(facts);
}

function kubeletAbsent(facts: Facts): Step | undefined {
  const { unit, config } = facts;
  // With --restart Never nobody is asked. A unit that was asked for must run, whatever its policy.
  if (unit === undefined || !("notAsked" in unit)) {
    const missing = unitMissing(facts);
    if (missing !== undefined) return refuse(missing.code, missing.again, missing.detail);
  }
  const whole = unitOf(facts);
  if (whole !== undefined && !isRunning(whole))
    return refuse(codes.unitNotRunning, soon, `${whole.name} is ${whole.active}/${whole.sub}`);
  if (whole?.refuses === true)
    return refuse(codes.restartRefused, soon, `${whole.name} has RefuseManualStop or the like`);
  if (!facts.healthy) {
    const { healthzAddress: address, healthzPort } = config;
    const asked = address === auto ? "127.0.0.1 and ::1" : address;
    return refuse(codes.kubeletSilent, soon, `${asked}, port ${healthzPort}`);
  }
  return undefined;
}

/** What the kubelet needs besides us is not there, or not as it has to be. */
function broken({ file }: Facts): Step | undefined {
  const unfit = "unfit" in file ? file.unfit : undefined;
  return unfit === undefined ? undefined : refuse(codes.providerUnfit, soon, unfit);
}

/** Only the first config.json hides another file; the kubelet skips one that does not parse. */
function hiding({ file, hides, journal, lost }: Facts, planned?: Plan): Step | undefined {
  if ("beside" in file && (planned === undefined || planned.kept)) return undefined;
  const first = "passedOver" in file && file.passedOver;
  if (!first || journal.kind === "journal" || lost) return undefined;
  if (hides === undefined || hides.kind === "nothing") return undefined;
  return refuse(hides.kind === "file" ? codes.hidesFile : codes.hidesUnknown, resync, hides.what);
}

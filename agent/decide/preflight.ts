/**
 * Whether a node is fit to be touched. Asked at revision 0, before anything is, so that unfit nodes
 * are known before the first one is changed; and again before each change begins. Pure: facts → the
 * first reason why not.
 *
 * Each reason is one that the restart would find out too late. healthz off or on another port: the
 * kubelet is restarted until it answers, which it never does. A unit that is dead while our
 * container runs is not the kubelet's, or somebody stopped it: a restart would start it.
 */
import type { Facts } from "../facts/facts.ts";
import { unitMissing } from "../restart/restart.ts";
import { isRunning, unitOf } from "../facts/kubelet-state.ts";
import { type Answer, ask, fast, refuse, resync, soon, type Step, wait } from "../facts/step.ts";
import { codes } from "../facts/problems.ts";

/** What to do instead of touching the node; undefined if it is fit. */
export function preflight(facts: Facts): Answer | undefined {
  const { journal, file } = facts;
  if (journal.kind === "newer") return refuse(codes.newerJournal, resync, journal.why);
  if (file.kind === "changing") return wait(codes.changedMeanwhile, fast);
  if (file.kind === "refused") return refuse(codes.unsafe, soon, file.why);
  if (facts.hides === undefined) return ask("fitness");
  return kubeletAbsent(facts) ?? hiding(facts) ?? unwatched(facts);
}

/**
 * Revision 0: fit or not, nothing is touched. A node that was found fit stays so while healthz
 * answers.
 */
export function observe(facts: Facts): Answer {
  if (facts.fit && facts.healthy === undefined) return ask("healthz");
  const unfit = facts.fit && facts.healthy === true ? undefined : preflight(facts);
  return unfit ?? { action: "nothing", code: codes.fit, ready: true, again: resync };
}

function kubeletAbsent(facts: Facts): Step | undefined {
  const { unit, config } = facts;
  // With --restart Never there is no bus to ask; but whoever was asked must run, whatever the
  // policy for it.
  if (unit === undefined || !("busless" in unit)) {
    const missing = unitMissing(facts);
    if (missing !== undefined) return refuse(missing.code, missing.again, missing.detail);
  }
  const whole = unitOf(facts);
  if (whole !== undefined && !isRunning(whole))
    return refuse(codes.unitNotRunning, soon, `${whole.name} is ${whole.active}/${whole.sub}`);
  if (!facts.healthy) return refuse(codes.kubeletSilent, soon, `127.0.0.1:${config.healthzPort}`);
  return undefined;
}

/** Only the first file of ours hides another one; the kubelet skips one that does not parse. */
function hiding({ file, hides, journal, lost }: Facts): Step | undefined {
  const first = "passedOver" in file && file.passedOver;
  if (!first || journal.kind === "journal" || lost) return undefined;
  if (hides === undefined || hides.kind === "nothing") return undefined;
  return refuse(hides.kind === "file" ? codes.hidesFile : codes.hidesUnknown, resync, hides.what);
}

function unwatched(facts: Facts): Step | undefined {
  return facts.unwatched === undefined
    ? undefined
    : refuse(codes.unwatchable, resync, facts.unwatched);
}

/** A kubelet that keeps failing by itself while it has flags of ours: they are taken back. Pure. */
import { boundTo } from "../facts/bound-unit.ts";
import type { Facts } from "../facts/facts.ts";
import { grantedKey, isOf } from "../facts/grant.ts";
import type { Journal } from "../journal/journal.ts";
import { type Answer, ask, record } from "../facts/step.ts";
import { isRestartedBySystemd, unitOf } from "../facts/kubelet-state.ts";
import type { Unit } from "../systemd/unit.ts";
import { codes } from "../facts/problems.ts";

/** Without an answer of healthz; a kubelet that crashed once is back within a few seconds. */
const failsFor = 60_000;
const mostRestarts = 3;

/**
 * It was proved with the flags, but another version of it may refuse what they name, and exits at
 * its start. Their loss costs pulls; a kubelet that does not start costs the node. Undefined where
 * it is not ours to mend: somebody stopped it, or nothing of ours can be why.
 */
export function takeBack(facts: Facts, journal: Journal): Answer | undefined {
  const { file, unit, stopwatch, config } = facts;
  const { flags, ...owned } = journal.owned;
  const registered = "registers" in file && file.registers === "registered";
  if (facts.healthy !== false || !flags || !registered || config.restart === "Never")
    return undefined;
  if (unit === undefined) return ask("kubelet");
  const whole = unitOf(facts);
  if (whole === undefined || !keepsFailing(whole) || stopwatch.silent < failsFor) return undefined;
  // As of nothing that was ever proved: what is wanted is then tried anew, under another grant.
  const undo = { file: file.now, owned, revision: 0, content: "" };
  const key = isOf(journal, facts.grant) ? grantedKey(facts.grant) : undefined;
  const next: Journal = { ...journal, ...boundTo(facts), phase: "restoring", undo };
  const detail = `${whole.active}/${whole.sub}, ${whole.result}; its credential provider is taken back`;
  return record(codes.notBack, { ...next, ...(key !== undefined && { grant: key }) }, detail);
}

function keepsFailing(unit: Unit): boolean {
  return (
    (isRestartedBySystemd(unit) && unit.restarts >= mostRestarts) ||
    unit.result === "start-limit-hit"
  );
}

/** Asks systemd which unit is this node's kubelet, and for its state. */
import { auto } from "#contract/values.ts";
import { SystemdError, NoSystemd } from "../systemd/connection.ts";
import type { Config } from "../config/config.ts";
import { owing } from "../facts/bound-unit.ts";
import { found, kubeletUnits } from "../systemd/distributions.ts";
import { describe } from "../files/errno.ts";
import type { UnitFact } from "../facts/facts.ts";
import { isIdle, type JournalReading } from "../journal/journal.ts";
import type { Systemd } from "../systemd/systemd.ts";

type AskedUnit = Readonly<{ systemd: Systemd; config: Pick<Config, "unit" | "restart"> }>;

/**
 * The unit whose restart is or will be owed: the one that a flag names, else that the change began
 * with, else that is found. Never throws.
 */
export async function askUnit(
  { systemd, config }: AskedUnit,
  reading: JournalReading,
): Promise<UnitFact> {
  if (config.restart === "Never") return { notAsked: true };
  const known = owing(config.unit, reading);
  const underWay =
    reading.kind === "newer" || (reading.kind === "journal" && !isIdle(reading.journal));
  try {
    if (known !== undefined && (underWay || config.unit !== auto)) return await systemd.unit(known);
    const one = found(await systemd.states(kubeletUnits));
    if (!("unfound" in one)) return await systemd.unit(one.name);
    // None is active. The decision judges what that means for the unit of the change.
    const former = known ?? (underWay ? formerUnit : undefined);
    return former === undefined || one.several
      ? { unfound: one.unfound }
      : await systemd.unit(former);
  } catch (error) {
    return {
      unknown: describe(error),
      absent: error instanceof NoSystemd,
      outdated: error instanceof SystemdError && error.type.endsWith(".UnknownProperty"),
    };
  }
}

/** Agents that name no unit in their journals restarted this one by default. */
const formerUnit = "kubelet.service";

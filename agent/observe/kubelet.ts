/** Asks systemd for the state of the kubelet's unit, and the kubelet for its health. */
import { get } from "node:http";
import { auto } from "#contract/values.ts";
import { SystemdError, NoSystemd, Stopped } from "../systemd/connection.ts";
import type { Config } from "../facts/config.ts";
import { namedUnit } from "../facts/kubelet-state.ts";
import { activeUnit, kubeletUnits } from "../systemd/distributions.ts";
import { describe } from "../files/errno.ts";
import type { UnitFact } from "../facts/facts.ts";
import { isIdle, type JournalReading } from "../journal/journal.ts";
import type { Systemd } from "../systemd/systemd.ts";

type AskedUnit = Readonly<{ systemd: Systemd; config: Pick<Config, "unit" | "restart"> }>;

/**
 * The unit to restart: the unit that a flag names, otherwise the unit of the change under way,
 * otherwise the unit that is active. Throws only Stopped.
 */
export async function askUnit(
  { systemd, config }: AskedUnit,
  reading: JournalReading,
): Promise<UnitFact> {
  if (config.restart === "Never") return { notAsked: true };
  const unitName = namedUnit(config.unit, reading);
  const underWay =
    reading.kind === "newer" || (reading.kind === "journal" && !isIdle(reading.journal));
  try {
    if (unitName !== undefined && (underWay || config.unit !== auto))
      return await systemd.unit(unitName);
    const activeKubelet = activeUnit(await systemd.states(kubeletUnits));
    if (!("unfound" in activeKubelet)) return await systemd.unit(activeKubelet.name);
    // No unit is active. The kubelet might be down, so the decision needs the state of its unit.
    return unitName === undefined || activeKubelet.several
      ? { unfound: activeKubelet.unfound }
      : await systemd.unit(unitName);
  } catch (error) {
    if (error instanceof Stopped) throw error;
    return {
      unknown: describe(error),
      absent: error instanceof NoSystemd,
      outdated: error instanceof SystemdError && error.type.endsWith(".UnknownProperty"),
    };
  }
}

/** The most bytes of the answer's headers. The kubelet sends 200 bytes. */
const maxHeaderSize = 1024;

/** The addresses on which a kubelet listens by default; k3s with IPv6 first listens on ::1. */
const loopbacks = ["127.0.0.1", "::1"];

/**
 * Whether healthz answers 200 at the address; `auto` tries both loopback addresses. Never throws.
 */
export async function askHealthz(port: number, address = auto): Promise<boolean> {
  const hosts = address === auto ? loopbacks : [address];
  for (const host of hosts) if (await askAt(host, port)) return true;
  return false;
}

/** Whether healthz answers 200 within two seconds. Reads no body, which could be endless. */
function askAt(host: string, port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const signal = AbortSignal.timeout(2000);
  const request = get({ host, port, path: "/healthz", agent: false, maxHeaderSize, signal });
  request.on("response", (response) => {
    resolve(response.statusCode === 200);
    request.destroy();
  });
  request.on("error", () => resolve(false));
  return promise;
}

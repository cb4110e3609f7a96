/** Asks systemd for the state of the kubelet's unit, and the kubelet for its health. */
import { get } from "node:http";
import { auto } from "#contract/values.ts";
import { SystemdError, NoSystemd, Stopped } from "../systemd/connection.ts";
import type { Config } from "../facts/config.ts";
import { activeUnit, kubeletUnits } from "../systemd/distributions.ts";
import { describe } from "../files/errno.ts";
import type { Healthz, UnitFact } from "../facts/facts.ts";
import type { JournalReading } from "../journal/journal.ts";
import { listenerAt } from "./listener.ts";
import type { Systemd } from "../systemd/systemd.ts";

type AskedUnit = Readonly<{ systemd: Systemd; config: Pick<Config, "unit" | "restart"> }>;

/** The unit of the change under way; undefined at rest. */
export function unitOfChange(reading: JournalReading): string | undefined {
  const journal = reading.kind === "journal" ? reading.journal : undefined;
  return journal === undefined || journal.phase === "resting" ? undefined : journal.unit;
}

/**
 * The unit to restart: the unit of the change under way, otherwise the unit that a flag names,
 * otherwise the unit that is active. Throws only Stopped.
 */
export async function askUnit(
  { systemd, config }: AskedUnit,
  reading: JournalReading,
): Promise<UnitFact> {
  if (config.restart === "Never") return { notAsked: true };
  const unitName = unitOfChange(reading) ?? (config.unit === auto ? undefined : config.unit);
  try {
    if (unitName !== undefined) return await systemd.unit(unitName);
    const activeKubelet = activeUnit(await systemd.states(kubeletUnits));
    return "unfound" in activeKubelet ? activeKubelet : await systemd.unit(activeKubelet.name);
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
 * Asks healthz at the address; `auto` tries both loopback addresses. An answer counts only if no
 * process of another user listens at the port, neither before the answer nor after it. Never
 * throws.
 */
export async function askHealthz(
  port: number,
  address = auto,
  listener = listenerAt,
): Promise<Healthz> {
  const before = listener(port);
  if (before !== "own") return before;
  const hosts = address === auto ? loopbacks : [address];
  for (const host of hosts)
    if (await askAt(host, port)) return listener(port) === "own" ? "answers" : "foreign";
  return "silent";
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

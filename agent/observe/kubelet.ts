/** Asks systemd for the state of the kubelet's unit, and the kubelet for its health. */
import { get } from "node:http";
import { auto } from "#contract/values.ts";
import { SystemdError, NoSystemd, Stopped } from "../systemd/connection.ts";
import type { Config } from "../facts/config.ts";
import { activeUnit, kubeletUnits } from "../systemd/distributions.ts";
import { describe } from "../files/errno.ts";
import type { Healthz, UnitFact } from "../facts/facts.ts";
import type { JournalReading } from "../journal/journal.ts";
import { isServedByOwnUser, type Ports } from "./peer.ts";
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
 * Asks healthz at the address; `auto` tries both loopback addresses. An answer counts only if a
 * process of root serves this very connection. Never throws.
 */
export async function askHealthz(
  port: number,
  address = auto,
  isServed = isServedByOwnUser,
): Promise<Healthz> {
  let heard: Healthz = "nobody";
  for (const host of address === auto ? loopbacks : [address]) {
    const answer = await askAt(host, port, isServed);
    if (answer === "answers" || answer === "silent") return answer;
    if (answer === "foreign") heard = answer;
  }
  return heard;
}

/** Whether healthz answers 200 within two seconds. Reads no body, which could be endless. */
function askAt(host: string, port: number, isServed: (ports: Ports) => boolean): Promise<Healthz> {
  const { promise, resolve } = Promise.withResolvers<Healthz>();
  // Otherwise the server would close its end of the connection together with its answer.
  const headers = { connection: "keep-alive" };
  const request = get({ host, port, path: "/healthz", agent: false, maxHeaderSize, headers });
  const judge = (answer: Healthz) => {
    const { localPort: client } = request.socket ?? {};
    resolve(client !== undefined && isServed({ client, server: port }) ? answer : "foreign");
    request.destroy();
  };
  const timer = setTimeout(
    () => (request.socket?.connecting ? resolve("nobody") : judge("silent")),
    2000,
  );
  request.on("response", ({ statusCode }) => judge(statusCode === 200 ? "answers" : "silent"));
  // The port is closed, or the server has closed the connection, so nobody serves it.
  request.on("error", () => resolve("nobody"));
  return promise.finally(() => {
    clearTimeout(timer);
    request.destroy();
  });
}

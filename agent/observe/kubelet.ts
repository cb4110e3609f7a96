/** Asks systemd for the state of the kubelet's unit, and the kubelet for its health. */
import { auto } from "#contract/values.ts";
import { SystemdError, NoSystemd, Stopped } from "../systemd/connection.ts";
import type { Config } from "../facts/config.ts";
import { namedUnit } from "../facts/kubelet-state.ts";
import { activeUnit, kubeletUnits } from "../systemd/distributions.ts";
import { describe } from "../files/errno.ts";
import type { UnitFact } from "../facts/facts.ts";
import { isIdle, type JournalReading } from "../journal/journal.ts";
import type { Systemd } from "../systemd/systemd.ts";
import { connect } from "node:net";

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
  const known = namedUnit(config.unit, reading);
  const underWay =
    reading.kind === "newer" || (reading.kind === "journal" && !isIdle(reading.journal));
  try {
    if (known !== undefined && (underWay || config.unit !== auto)) return await systemd.unit(known);
    const one = activeUnit(await systemd.states(kubeletUnits));
    if (!("unfound" in one)) return await systemd.unit(one.name);
    // No unit is active. The kubelet might be down, so the decision needs the state of its unit.
    return known === undefined || one.several
      ? { unfound: one.unfound }
      : await systemd.unit(known);
  } catch (error) {
    if (error instanceof Stopped) throw error;
    return {
      unknown: describe(error),
      absent: error instanceof NoSystemd,
      outdated: error instanceof SystemdError && error.type.endsWith(".UnknownProperty"),
    };
  }
}

/** More bytes than the kubelet's status line and headers. */
const mostBytes = 1024;

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

/**
 * Whether healthz answers 200 within two seconds. Uses a plain socket: for one status line,
 * node:http would take a fifth of the agent's start and 2 MiB
 * (docs/inside/decisions/agent-cost.md).
 */
function askAt(host: string, port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ host, port, signal: AbortSignal.timeout(2000) });
  let answer = "";
  const judge = () => resolve(/^HTTP\/1\.[01] 200[ \r]/.test(answer));
  socket.setEncoding("latin1").on("data", (text: string) => {
    answer += text;
    if (answer.includes("\r\n") || answer.length > mostBytes) socket.destroy();
  });
  socket.on("error", () => {});
  socket.on("close", judge);
  socket.write("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
  return promise;
}

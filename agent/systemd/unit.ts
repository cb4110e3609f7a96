/** A unit as systemd reports it. */
import type { Peer } from "./connection.ts";

export type Unit = Readonly<{
  name: string;
  /** `loaded`, `not-found`, `masked`, `bad-setting`, `error`. */
  load: string;
  /** `active`, `inactive`, `failed`, `activating`, `deactivating`, `reloading`. */
  active: string;
  sub: string;
  /** 32 hexadecimal digits, new at each start; empty if the unit never ran. */
  invocation: string;
  /** Whether a job for the unit is queued or running. */
  busy: boolean;
  mainPid: number;
  /** When the main process was started: milliseconds of CLOCK_MONOTONIC. */
  started: number;
  /** Automatic restarts since the last requested start. */
  restarts: number;
  /** `success`, `exit-code`, `start-limit-hit` … */
  result: string;
  /** The unit's configuration forbids a requested restart. */
  refuses: boolean;
  /** The start limit's interval in milliseconds; 0 for infinity and for a limit that is off. */
  startLimit: number;
}>;

/** Enough to distinguish a running unit from a left-over unit. */
export type UnitState = Pick<Unit, "name" | "load" | "active">;

const destination = "org.freedesktop.systemd1";
const managerPath = "/org/freedesktop/systemd1";
export const manager = {
  destination,
  path: managerPath,
  interface: `${destination}.Manager`,
} as const;

/**
 * Reads a unit's properties as they were at one moment: if the unit's state changes meanwhile,
 * reads all of them again. Requests only the needed properties, by name and all at once. systemd
 * has 400 properties for a service and reads control groups for many of them.
 */
export async function readUnit(systemd: Peer, name: string): Promise<Unit> {
  const get = propertiesOf(systemd, name);
  for (;;) {
    // The answers come in this order.
    const [
      before,
      load,
      active,
      sub,
      invocation,
      job,
      startLimit,
      canStart,
      canStop,
      mainPid,
      started,
      restarts,
      result,
      after,
    ] = await Promise.all([
      get("Unit", stateChange),
      get("Unit", "LoadState"),
      get("Unit", "ActiveState"),
      get("Unit", "SubState"),
      get("Unit", "InvocationID"),
      get("Unit", "Job"),
      get("Unit", "StartLimitIntervalUSec"),
      get("Unit", "CanStart"),
      get("Unit", "CanStop"),
      get("Service", "MainPID"),
      get("Service", "ExecMainStartTimestampMonotonic"),
      get("Service", "NRestarts"),
      get("Service", "Result"),
      get("Unit", stateChange),
    ]);
    if (number(before) !== number(after)) continue;
    return {
      name,
      load: text(load),
      active: text(active),
      sub: text(sub),
      invocation: hex(invocation),
      busy: Array.isArray(job) && Number(job[0]) !== 0,
      mainPid: number(mainPid),
      started: number(started) / 1000,
      restarts: number(restarts),
      result: text(result),
      refuses: canStart === false || canStop === false,
      startLimit: milliseconds(startLimit),
    };
  }
}

export function readStates(systemd: Peer, names: readonly string[]): Promise<UnitState[]> {
  return Promise.all(
    names.map(async (name) => {
      const get = propertiesOf(systemd, name);
      const [load, active] = await Promise.all([
        get("Unit", "LoadState"),
        get("Unit", "ActiveState"),
      ]);
      return { name, load: text(load), active: text(active) };
    }),
  );
}

function propertiesOf(systemd: Peer, name: string) {
  const path = pathOf(name);
  return (kind: "Unit" | "Service", which: string): Promise<unknown> =>
    property(systemd, path, `${destination}.${kind}`, which);
}

async function property(systemd: Peer, path: string, of: string, which: string): Promise<unknown> {
  const [variant] = await systemd.call({
    destination,
    path,
    interface: "org.freedesktop.DBus.Properties",
    member: "Get",
    signature: "ss",
    body: [of, which],
  });
  return (variant as { value?: unknown } | null | undefined)?.value;
}

/** Encodes the path like sd_bus_path_encode(3). systemd loads the unit if it is not loaded. */
function pathOf(unit: string): string {
  const hexOf = (sign: string) => `_${Buffer.from(sign).toString("hex")}`;
  return `${managerPath}/unit/${unit.replace(/[^A-Za-z0-9]|^[0-9]/g, hexOf)}`;
}

/** Microseconds on a clock that never jumps. Changes with each change of the state. */
const stateChange = "StateChangeTimestampMonotonic";

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function number(value: unknown): number {
  return typeof value === "number" || typeof value === "bigint" ? Number(value) : 0;
}

function hex(value: unknown): string {
  const bytes =
    Array.isArray(value) && value.every((byte) => typeof byte === "number")
      ? Buffer.from(value)
      : value;
  return bytes instanceof Uint8Array ? Buffer.from(bytes).toString("hex") : "";
}

/** Microseconds; 2^64-1 is infinity. */
function milliseconds(value: unknown): number {
  const micros = number(value);
  return micros > 1e15 ? 0 : Math.ceil(micros / 1000);
}

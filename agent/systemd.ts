/** The one unit that we may restart, as systemd sees it over D-Bus. */
import { join } from "node:path";
import { BusError, type Connection, type Signal, withBus } from "./bus.ts";
import { destination, type Loaded, manager, readLoad, readUnit, type Unit } from "./unit.ts";

/**
 * What came of a restart: the job's result (`done`, `failed`, `canceled` …; `unknown` if the bus was lost while it ran), or
 * the error for which there is no job.
 */
type Restarted = Readonly<{ result: string }> | Readonly<{ refused: Error }>;

export type Systemd = Readonly<{
  /** The unit's present state. Throws CouldNotAsk or BusError. */
  unit(): Promise<Unit>;
  /** Whether the unit is there. Throws like `unit`. */
  load(): Promise<Loaded>;
  /** Restarts the unit and waits for the job. Never throws, never cancels the job: that would leave the unit stopped. */
  restart(): Promise<Restarted>;
  /** Forgets failures and the start limit's count, so that the next start is not refused. */
  resetFailed(): Promise<void>;
}>;

const theBus = {
  destination: "org.freedesktop.DBus",
  path: "/org/freedesktop/DBus",
  interface: "org.freedesktop.DBus",
} as const;

/** Milliseconds for one connection, from connecting to the last answer. */
type Deadlines = Readonly<{ question: number; job: number }>;

const usual: Deadlines = {
  // Answered in a millisecond; an SELinux-denied reply never comes. 10 s leaves a thrashing node its time.
  question: 10_000,
  // TimeoutStopSec and TimeoutStartSec are 90 s each by default; 30 s for ExecStartPre and a busy node.
  job: 210_000,
};

/** `stop` ends whatever is being waited for; a job goes on without us. */
export function systemdOver(dbusDirectory: string, unit: string, stop: AbortSignal, deadlines = usual): Systemd {
  const socket = join(dbusDirectory, "system_bus_socket");
  return {
    unit: () => withBus(socket, deadlines.question, stop, (bus) => readUnit(bus, unit)),
    load: () => withBus(socket, deadlines.question, stop, (bus) => readLoad(bus, unit)),
    restart: () => restart(unit, (use) => withBus(socket, deadlines.job, stop, use)),
    resetFailed: () =>
      withBus(socket, deadlines.question, stop, async (bus) => {
        await bus.call({ ...manager, member: "ResetFailedUnit", signature: "s", body: [unit] });
      }),
  };
}

async function restart(
  unit: string,
  connect: (use: (bus: Connection) => Promise<string>) => Promise<string>,
): Promise<Restarted> {
  // From the moment when the request is on its way, an error no longer means that there is no job.
  let sent = false;
  try {
    const result = await connect(async (bus) => {
      const match = `type='signal',sender='${destination}',interface='${manager.interface}',path='${manager.path}'`;
      await bus.call({ ...theBus, member: "AddMatch", signature: "s", body: [match] });
      await bus.call({ ...manager, member: "Subscribe" });
      sent = true;
      const [job] = await bus.call({ ...manager, member: "RestartUnit", signature: "ss", body: [unit, "replace"] });
      let removed = "";
      // It may have been read together with the reply, before we run again: those stored are searched first.
      await bus.signal((signal) => {
        if (!isRemovalOf(signal, job)) return false;
        removed = String(signal.body[3]);
        return true;
      });
      return removed;
    });
    return { result };
  } catch (error) {
    const refused = error instanceof Error ? error : new Error(String(error));
    return sent && !(refused instanceof BusError) ? { result: "unknown" } : { refused };
  }
}

function isRemovalOf({ member, path, body }: Signal, job: unknown): boolean {
  return member === "JobRemoved" && path === manager.path && body[1] === job;
}

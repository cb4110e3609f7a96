/** systemd's units over D-Bus. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import {
  type Connection,
  SystemdError,
  type Peer,
  NoAnswer,
  NoSystemd,
  Silence,
  connectTo,
} from "./connection.ts";
import { manager, readStates, readUnit, type Unit, type UnitState } from "./unit.ts";

/**
 * The outcome of a restart: the job's result (`done`, `failed`, `canceled` …; `unknown` if the
 * connection was lost while the job ran), or the error that prevented the job.
 */
type Restarted = Readonly<{ result: string }> | Readonly<{ refused: Error }>;

/** Requests that follow each other share one connection, until `disconnect`. */
export type Systemd = Readonly<{
  /** The unit's present state. Throws NoAnswer or SystemdError. */
  unit(name: string): Promise<Unit>;
  /** Which of these units exist and are active. Throws like `unit`. */
  states(names: readonly string[]): Promise<UnitState[]>;
  /**
   * Restarts a unit and waits for the job. Awaits `recorded` before the request. Never throws, and
   * never cancels the job, because that would leave the unit stopped.
   */
  restart(name: string, recorded: () => Promise<void>): Promise<Restarted>;
  /** Resets failures and the count of the start limit, so that the next start is not refused. */
  resetFailed(name: string): Promise<void>;
  /** Closes the connection, before a wait. */
  disconnect(): void;
}>;

/** Milliseconds for one request or job, from connecting to the last answer. */
type Deadlines = Readonly<{ question: number; job: number }>;

const defaults: Deadlines = {
  // systemd answers in a millisecond. The limit of 10 s is for a thrashing node.
  question: 10_000,
  // TimeoutStopSec and TimeoutStartSec are 90 s each by default. The other 30 s are for
  // ExecStartPre and a busy node.
  job: 210_000,
};

/**
 * systemd's own socket, which root's systemctl uses (docs/inside/decisions/systemd-socket.md).
 * Throws NoSystemd if it does not exist.
 */
function socketIn(directory: string): string {
  const socket = join(directory, "private");
  if (existsSync(socket)) return socket;
  throw new NoSystemd(`connect ENOENT ${socket}`);
}

/** `directory`: the node's /run/systemd. `stop` ends any wait, but a job continues without us. */
export function systemdOver(directory: string, stop: AbortSignal, deadlines = defaults): Systemd {
  let open: Connection | undefined;
  const disconnect = () => {
    open?.close();
    open = undefined;
  };
  const within = async <T>(deadline: number, use: (systemd: Peer) => Promise<T>): Promise<T> => {
    if (open?.broken()) disconnect();
    open ??= await connectTo(socketIn(directory), stop);
    try {
      return await open.within(deadline, use);
    } catch (error) {
      disconnect();
      throw error;
    }
  };
  /**
   * Asks once more if the connection was lost. systemd closes all connections when it reloads its
   * own program (`systemctl daemon-reexec`), and without an answer, a withdrawal would restart no
   * kubelet.
   */
  const ask = async <T>(use: (systemd: Peer) => Promise<T>): Promise<T> => {
    try {
      return await within(deadlines.question, use);
    } catch (error) {
      const isLost = error instanceof NoAnswer && !(error instanceof Silence);
      if (!isLost || error instanceof NoSystemd) throw error;
      return await within(deadlines.question, use);
    }
  };
  return {
    unit: (name) => ask((systemd) => readUnit(systemd, name)),
    states: (names) => ask((systemd) => readStates(systemd, names)),
    restart: async (name, recorded) => {
      try {
        return await restart(name, recorded, (use) => within(deadlines.job, use));
      } finally {
        // A connection makes at most one restart.
        disconnect();
      }
    },
    resetFailed: (name) =>
      ask(async (systemd) => {
        await systemd.call({ ...manager, member: "ResetFailedUnit", signature: "s", body: [name] });
      }),
    disconnect,
  };
}

async function restart(
  unit: string,
  recorded: () => Promise<void>,
  connect: (use: (systemd: Peer) => Promise<string>) => Promise<string>,
): Promise<Restarted> {
  // Once the request has been sent, an error does not prove that there is no job.
  let sent = false;
  try {
    const result = await connect(async (systemd) => {
      await recorded();
      sent = true;
      const [job] = await systemd.call({
        ...manager,
        member: "RestartUnit",
        signature: "ss",
        body: [unit, "replace"],
      });
      return await systemd.resultOf(job);
    });
    return { result };
  } catch (error) {
    const refused = error instanceof Error ? error : new Error(String(error));
    return sent && !(refused instanceof SystemdError) ? { result: "unknown" } : { refused };
  }
}

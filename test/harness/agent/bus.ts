/**
 * A private dbus-daemon, real except for the programs on it: the agent's transport is tested
 * against the real thing.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export type TestBus = Readonly<{
  /** Has the socket `system_bus_socket`, as /run/dbus has. */
  directory: string;
  address: string;
  /** Sends the daemon a signal; SIGSTOP makes it silent, SIGKILL ends it. */
  signal(name: NodeJS.Signals): Promise<void>;
}> &
  AsyncDisposable;

/**
 * Writes the daemon's configuration, which it reads at its start and at SIGHUP. `policy` are rules
 * such as `<deny …/>`; by default everything is allowed.
 */
export function configure(directory: string, policy = "", limits = ""): void {
  writeFileSync(
    join(directory, "bus.conf"),
    `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><listen>${addressOf(directory)}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/>
${policy}</policy>${limits}</busconfig>`,
  );
}

function addressOf(directory: string): string {
  return `unix:path=${join(directory, "system_bus_socket")}`;
}

export async function startBus(directory: string, limits = ""): Promise<TestBus> {
  mkdirSync(directory, { recursive: true });
  configure(directory, "", limits);
  const configuration = join(directory, "bus.conf");
  const daemon = spawn(
    "dbus-daemon",
    [`--config-file=${configuration}`, "--nofork", "--print-address=1"],
    {
      stdio: ["ignore", "pipe", "ignore"],
    },
  );
  const printed = await Promise.race([
    once(daemon.stdout, "data"),
    once(daemon, "exit").then(() => undefined),
  ]);
  if (printed === undefined) throw new Error(`dbus-daemon did not start with ${configuration}`);
  const end = async (name: NodeJS.Signals) => {
    daemon.kill(name);
    if (name === "SIGKILL" && running(daemon)) await once(daemon, "exit");
  };
  return {
    directory,
    address: addressOf(directory),
    signal: end,
    [Symbol.asyncDispose]: async () => {
      daemon.kill("SIGCONT");
      await end("SIGKILL");
    },
  };
}

function running(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

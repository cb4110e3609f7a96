/** A private dbus-daemon, real in everything but who is on it: the agent's transport is tested against the real thing. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export type Bus = Readonly<{
  /** Has the socket `system_bus_socket`, as /run/dbus has. */
  directory: string;
  address: string;
  /** Sends the daemon a signal; SIGSTOP makes it silent, SIGKILL takes it away. */
  signal(name: NodeJS.Signals): Promise<void>;
}> &
  AsyncDisposable;

/** `policy` is put into the daemon's configuration, such as `<deny …/>` rules; by default everything is allowed. */
export async function startBus(directory: string, policy = "", limits = ""): Promise<Bus> {
  mkdirSync(directory, { recursive: true });
  const address = `unix:path=${join(directory, "system_bus_socket")}`;
  const configuration = join(directory, "bus.conf");
  writeFileSync(
    configuration,
    `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><listen>${address}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/>
${policy}</policy>${limits}</busconfig>`,
  );
  const daemon = spawn("dbus-daemon", [`--config-file=${configuration}`, "--nofork", "--print-address=1"], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  const printed = await Promise.race([once(daemon.stdout, "data"), once(daemon, "exit").then(() => undefined)]);
  if (printed === undefined) throw new Error(`dbus-daemon did not start with ${configuration}`);
  const end = async (name: NodeJS.Signals) => {
    daemon.kill(name);
    if (name === "SIGKILL" && running(daemon)) await once(daemon, "exit");
  };
  return {
    directory,
    address,
    signal: end,
    [Symbol.asyncDispose]: async () => {
      daemon.kill("SIGCONT");
      await end("SIGKILL");
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function running(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

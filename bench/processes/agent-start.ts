/**
 * From the start of the agent's process to its first decision, against a Node that does nothing.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { NodeDirectory } from "#test/harness/agent/agent.ts";
import { nodeFlags } from "#test/harness/agent/deployed.ts";
import { startBus } from "#test/harness/agent/bus.ts";
import { ScriptedSystemd } from "#test/harness/agent/scripted-systemd.ts";
import type { Measurement } from "../result/bench.ts";
import { compare } from "../result/result.ts";
import { interleave } from "../result/rounds.ts";

export const agentStart: Measurement = {
  name: "agent-start",
  run: async (bench) => {
    const rounds = bench.quick ? 15 : 40;
    const pairs = await interleave(rounds, () => decision("dist/agent.cjs"), nothing);
    const floor = await interleave(rounds, () => decision("-e", leastProgram, "--"), nothing);
    return [
      compare({ name: "agent-start", unit: "ms", against: "node that says a word" }, pairs),
      compare(
        {
          name: "agent-start, limit: listens, reaches the bus",
          unit: "ms",
          against: "node that says a word",
        },
        floor,
      ),
    ];
  },
};

/**
 * What Node itself needs, with the modules that an agent cannot do without: the probe's port, and
 * one answer of the bus.
 */
const leastProgram = `
  const net = require("node:net");
  require("node:crypto");
  net.createServer(() => {}).listen(31248, "127.0.0.1", () => {
    const directory = process.argv.find((flag) => flag.startsWith("--dbus-directory=")).split("=")[1];
    const bus = net.connect(directory + "/system_bus_socket");
    bus.once("data", () => require("node:fs").writeSync(1, "GPS226"));
    bus.write("\\0AUTH EXTERNAL 30\\r\\n");
  });`;

/** Milliseconds to the first line, which tells the decision: a new credential is to be written. */
async function decision(...program: readonly string[]): Promise<number> {
  using node = new NodeDirectory();
  await using bus = await startBus(node.dbus);
  await using systemd = await ScriptedSystemd.start(bus.address);
  node.mount(1, { additional: { "private.example": "one" } });
  node.grant(1);
  const flags = [
    `--secret-directory=${node.secret}`,
    `--kubelet-directory=${node.kubelet}`,
    `--dbus-directory=${node.dbus}`,
    `--termination-log=${node.terminationLog}`,
    `--pod-directory=${node.pod}`,
    `--healthz-port=${systemd.healthzPort}`,
    "--probe-port=31248",
  ];
  const env = {
    ...process.env,
    NODE_NAME: "node1",
    MALLOC_ARENA_MAX: "1",
  };
  const begun = performance.now();
  const child = spawn(process.execPath, [...nodeFlags(node), ...program, ...flags], {
    env,
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const took = performance.now() - begun;
  child.kill("SIGKILL");
  await once(child, "exit");
  if (!line.toString().includes("GPS226")) throw new Error(`another decision: ${line.toString()}`);
  return took;
}

/** Milliseconds to the first word of a bare Node. The end of the process is counted for neither. */
async function nothing(): Promise<number> {
  const begun = performance.now();
  const child = spawn(process.execPath, ["-e", 'require("node:fs").writeSync(1, "ok")'], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  await once(child.stdout, "data");
  const took = performance.now() - begun;
  await once(child, "exit");
  return took;
}

/**
 * A step of the image's build: runs the agent beside this program, on a node with a new credential, until it asks for the
 * kubelet's restart, and leaves what V8 has compiled by then in agent.cache.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import * as net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cacheFile, compileAgent, runAgent } from "../agent/code.ts";
import { firstJournal, writeJournal } from "../agent/journal.ts";
import { agentEnvironment, nodeFiles, secretKeys } from "../pullsecret/names.ts";
import { freePort } from "../test/free-port.ts";
import { playBus } from "./played-bus.ts";

/** Milliseconds for what takes a tenth of a second. */
const longest = 30_000;

const noMemory: NodeJS.MemoryUsage = { rss: 0, heapTotal: 0, heapUsed: 0, external: 0, arrayBuffers: 0 };

if (!("BoundSocket" in net)) {
  process.stderr.write(`Node ${process.version} is too old for the agent: give a BASE with Node 24.19 or newer\n`);
  process.exit(1);
}

const root = mkdtempSync(join(tmpdir(), "warm-"));
const under = (name: string): string => join(root, name);

/** A node with a journal and a mounted Secret that it has not got yet. */
function makeNode(): void {
  for (const folder of ["kubelet", "secret", "bus", "words"]) mkdirSync(under(folder));
  const kubelet = (name: string) => join(under("kubelet"), name);
  mkdirSync(kubelet(nodeFiles.folder));
  writeFileSync(kubelet(nodeFiles.journal), writeJournal(firstJournal({ absent: true })));
  const mount = (name: string, content: string) => writeFileSync(join(under("secret"), name), content);
  mount(secretKeys.document, '{"auths":{"registry.example":{"auth":"dTpw"}}}');
  mount(secretKeys.revision, "1");
  mount(secretKeys.sources, '{"registry.example":"additional"}');
}

async function main(): Promise<void> {
  makeNode();
  let asked = "";
  const end = (member: string) => {
    asked = member;
    process.kill(process.pid, "SIGTERM");
  };
  await playBus(under("bus/system_bus_socket"), end);
  process.argv.push(
    `--kubelet-directory=${under("kubelet")}`,
    `--secret-directory=${under("secret")}`,
    `--dbus-directory=${under("bus")}`,
    `--termination-log=${under("words/last")}`,
    // The build may share the machine's network.
    `--probe-port=${await freePort()}`,
  );
  Object.assign(process.env, { [agentEnvironment.revision]: "1", [agentEnvironment.node]: "build" });
  // The agent must not collect its garbage here: the flags for it would go into the cache, and V8 would refuse that where they are not set.
  process.memoryUsage = Object.assign(() => noMemory, { rss: () => 0 });
  const script = compileAgent();
  setTimeout(end, longest, "nothing");
  process.on("exit", () => {
    const words = readFileSync(under("words/last"), "utf8");
    rmSync(root, { recursive: true });
    if (asked === "RestartUnit") return writeFileSync(cacheFile, script.createCachedData());
    process.stderr.write(`the agent asked for ${asked} and said: ${words}\n`);
    process.exitCode = 1;
  });
  runAgent(script);
}

void main();

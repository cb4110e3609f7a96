/**
 * A step of the image's build: runs the agent beside this program until its first decision, and leaves what V8 has compiled
 * by then in agent.cache. The decision is to wait: there is a new credential, and a bus that hangs up at the first message.
 */
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, watch, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cacheFile, compileAgent, runAgent } from "../agent/code.ts";
import { firstJournal, writeJournal } from "../agent/journal.ts";
import { agentEnvironment, nodeFiles, secretKeys } from "../pullsecret/names.ts";
import { freePort } from "../test/free-port.ts";

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

/** Lets whoever comes authenticate, and hangs up. */
async function playBus(): Promise<void> {
  const server = createServer((socket) =>
    socket.on("data", (text) => {
      if (text.includes("AUTH")) socket.write("OK 0\r\n");
      if (text.includes("BEGIN")) socket.end();
    }),
  );
  await once(server.listen(under("bus/system_bus_socket")), "listening");
}

async function main(): Promise<void> {
  makeNode();
  await playBus();
  process.argv.push(
    `--kubelet-directory=${under("kubelet")}`,
    `--secret-directory=${under("secret")}`,
    `--dbus-directory=${under("bus")}`,
    `--termination-log=${under("words/last")}`,
    // The build may share the machine's network.
    `--probe-port=${await freePort()}`,
  );
  Object.assign(process.env, { [agentEnvironment.revision]: "1", [agentEnvironment.node]: "build" });
  const script = compileAgent();
  watch(under("words"), () => process.kill(process.pid, "SIGTERM"));
  process.on("exit", () => {
    const words = readFileSync(under("words/last"), "utf8");
    rmSync(root, { recursive: true });
    if (words.startsWith("GPS210")) return writeFileSync(cacheFile, script.createCachedData());
    process.stderr.write(`the agent decided otherwise: ${words}\n`);
    process.exitCode = 1;
  });
  runAgent(script);
}

void main();

/**
 * Kubelets that are alive but slow, on a real systemd: the agent restarts each of them exactly
 * once. Also a listener that takes the kubelet's healthz port, and a config.json that nobody can
 * read.
 */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import test, { type TestContext } from "node:test";
import { until } from "../cluster/await.ts";
import { encode } from "../harness/agent/agent.ts";
import { fresh, sharedNode } from "./machine.ts";
import { ours } from "./place.ts";

/** How often systemd has started the kubelet's unit, by its own log. */
async function starts(): Promise<number> {
  const { machine } = sharedNode();
  await machine.exec(["journalctl", "--sync"]);
  const fields = ["_PID=1", "UNIT=kubelet.service", "--output-fields=INVOCATION_ID"];
  const log = await machine.exec(["journalctl", ...fields, "--output=cat"]);
  return new Set(log.split("\n")).size;
}

/**
 * Applies a revision on a node whose kubelet's unit has these lines. Asserts that one restart was
 * requested, and that systemd started the kubelet `restarts` times more by itself.
 */
async function assertOneRestart(lines: string, restarts: number): Promise<void> {
  const { inside, revision } = await fresh();
  await inside.machine.breakKubelet(`[Service]\n${lines}\n`);
  const [old, before] = [await inside.kubelet(), await starts()];
  await inside.start(revision);
  await inside.proves(180_000);
  const { InvocationID, NRestarts, ActiveState } = await inside.kubelet();
  assert.deepEqual(
    {
      file: inside.node.file,
      NRestarts,
      ActiveState,
      starts: (await starts()) - before,
      requested: (await inside.jobs()).length,
    },
    {
      file: ours,
      NRestarts: String(restarts),
      ActiveState: "active",
      starts: 1 + restarts,
      requested: 1,
    },
  );
  assert.notEqual(InvocationID, old.InvocationID);
}

test("restarts a kubelet that takes 90 s to start once, and proves the revision", () =>
  assertOneRestart("TimeoutStartSec=5min\nExecStartPre=/bin/sleep 90", 0));

test("requests no second restart during the RestartSec after which systemd starts the kubelet again", async () => {
  const first = `/run/first-start-${sharedNode().revision}`;
  const fails = `test -e ${first} || { touch ${first}; exit 1; }`;
  await assertOneRestart(`RestartSec=10\nExecStartPre=/bin/sh -c '${fails}'`, 1);
});

/** Starts a process of another user that takes the healthz port, as soon as it is free. */
async function forge(t: TestContext): Promise<() => Promise<unknown>> {
  const { machine } = sharedNode().inside;
  const program = `
    process.setuid(65534);
    const server = require("node:http").createServer((_, answer) => answer.writeHead(500).end());
    const listen = () => server.listen(10248, "127.0.0.1");
    server.on("error", () => setTimeout(listen, 20));
    listen();`;
  await machine.exec(["systemd-run", "--unit=forger", "/root/agent/node", "-e", program]);
  const end = () => machine.exec(["systemctl", "stop", "forger"]).catch(() => {});
  t.after(end);
  return end;
}

test("neither restarts nor rolls back a kubelet whose healthz port another user's process has taken", async (t) => {
  const { inside, revision } = await fresh();
  const isTaken = 'grep -q " 0100007F:2808 00000000:0000 0A .* 65534 " /proc/net/tcp';
  await inside.machine.breakKubelet(
    `[Service]\nExecStartPre=/bin/sh -c 'until ${isTaken}; do sleep 0.1; done'\n`,
  );
  const end = await forge(t);
  await inside.start(revision);
  // The log repeats a code with another detail after a minute.
  await inside.shows("another user's process has the healthz port", 120_000);
  assert.deepEqual([inside.node.file, await inside.jobs()], [ours, ["done"]]);
  await end();
  await inside.proves();
  assert.deepEqual([inside.node.file, await inside.jobs()], [ours, ["done"]]);
});

test("keeps the entries of other programs, and the bytes, when config.json has a comma too many", async () => {
  const { inside, revision } = await fresh();
  const auths = { "b.io": { auth: encode("b") }, "c.io": { auth: encode("c") } };
  const theirs = JSON.stringify({ auths, credHelpers: { "d.io": "helper" } });
  inside.machine.writeFile("config.json", theirs);
  await inside.start(revision);
  await inside.proves();
  const { file = "" } = inside.node;
  const broken = file.replace("}}", "},}");
  inside.machine.writeFile("config.json", broken);
  await inside.shows("GPS269");
  await until("the entries are back", async () => inside.node.file === file);
  const name = readdirSync(inside.node.folder).find((kept) => kept.startsWith("unreadable-"));
  const bytes = inside.machine.readFile(`global-pull-secret/${name}`)?.toString();
  assert.equal(bytes, broken);
  inside.node.mount(revision + 1, {});
  inside.node.ask(revision + 1);
  await inside.removes();
  assert.equal(inside.node.file, theirs);
});

/**
 * Input that is invalid, changes too fast or is out of order: in the mounted Secret and from the
 * kubelet's healthz.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import test from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { AgentProcess, digestFor, inTime } from "../harness/agent/agent.ts";
import { content, ours, AgentPlace } from "./place.ts";

/** Resident memory in MiB, and the number of open descriptors. */
function resourcesOf({ child }: AgentProcess): Readonly<{ memory: number; descriptors: number }> {
  const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
  const memory = Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
  return { memory, descriptors: readdirSync(`/proc/${child.pid}/fd`).length };
}

test("applies the last of 10,000 quick changes of the Secret with few restarts and without a memory leak", async (t) => {
  await using place = await AgentPlace.make();
  await using agent = await place.agent(["--probation=0s"]);
  await agent.proves();
  const change = async (count: number) => {
    for (let n = 0; n < count; n += 1) {
      // Publishes in turn an older revision, the ordered revision with other content, a newer
      // revision, and the ordered content again.
      if (n % 4 === 3) place.node.mount(1, content);
      else place.node.mount(n % 4, { additional: { "a.io": `other${n}` } });
      // Pauses after every ten changes, so that the agent sees many of the changes and not only the
      // last change.
      if (n % 10 === 0) await sleep(1);
    }
    place.node.mount(1, content);
    assert.ok(await inTime(() => place.node.file?.trim() === ours, 90_000));
  };
  await change(1000);
  const before = resourcesOf(agent);
  await change(9000);
  const after = resourcesOf(agent);
  t.diagnostic(`${before.memory} to ${after.memory} MiB, ${place.systemd.restartCalls} restarts`);
  // The agent's heap can grow to 32 MiB. If the agent kept 9,000 changes, memory would grow far
  // more.
  assert.ok(after.memory - before.memory < 24, `${before.memory} to ${after.memory} MiB`);
  // An observation that is in progress can have two more descriptors open: the mount's folder and a
  // file in it.
  assert.ok(
    after.descriptors <= before.descriptors + 2,
    `${before.descriptors} to ${after.descriptors}`,
  );
  // 5,000 of the mounts have the number of the ordered revision, and half of these have other
  // content. The agent sees only the few mounts that are there when it observes the node.
  assert.ok(place.systemd.restartCalls <= 12, `${place.systemd.restartCalls} restarts`);
  assert.ok(agent.output.split("\n").length < 400);
});

test("H15: waits and changes nothing while the Secret is too old, incomplete or invalid", async () => {
  await using place = await AgentPlace.make();
  const { node } = place;
  const intent = { salt: "2".repeat(32), intent: "apply" };
  const files = { ".dockerconfigjson": '{"auths":{}}', revision: "2", sources: "{}", ...intent };
  const { sources: _, ...half } = files;
  const mounts: readonly (readonly [words: string, mount: () => void])[] = [
    [
      "GPS203 global-pull-secret does not have the ordered content (published 1, ordered 2)",
      () => node.mount(1, content),
    ],
    ["sources: not a JSON object", () => node.mountFiles(half)],
    [
      "GPS202 global-pull-secret is not complete (revision is not",
      () => node.mountFiles({ ...files, revision: "two" }),
    ],
    [
      "GPS202 global-pull-secret is not complete (intent must be",
      () => node.mountFiles({ ...files, intent: "drop" }),
    ],
    [
      "GPS202 global-pull-secret is not complete (salt does not",
      () => node.mountFiles({ ...files, salt: "" }),
    ],
    [
      "not base64",
      () => node.mountFiles({ ...files, ".dockerconfigjson": '{"auths":{"a.io":{"auth":"%"}}}' }),
    ],
    [
      "more than 1 MiB",
      () => node.mountFiles({ ...files, ".dockerconfigjson": " ".repeat(1024 * 1024 + 1) }),
    ],
    ["sources: not a JSON object", () => node.mountFiles({ ...files, sources: "[]" })],
  ];
  const options = {
    revision: 2,
    digest: digestFor(2, content),
    healthzPort: place.systemd.healthzPort,
  };
  for (const [words, mount] of mounts) {
    mount();
    // A new agent for each row, because an agent logs each code once a minute.
    await using agent = await AgentProcess.start(node, options);
    await agent.shows(words);
    assert.equal(node.file, undefined, words);
    assert.equal(place.systemd.restartCalls, 0, words);
  }
  await using agent = await AgentProcess.start(node, options);
  node.mount(2, content);
  await agent.proves();
  assert.equal(node.file, ours);
});

test("restarts nothing while the kubelet's healthz is wrong, silent, slow, endless or refused", async () => {
  await using place = await AgentPlace.make();
  const right = (socket: Socket) => void socket.write("HTTP/1.1 200 OK\r\n\r\nok");
  const answers: readonly ((socket: Socket) => void)[] = [
    (socket) => void socket.write("HTTP/1.1 500 Internal Server Error\r\n\r\n200"),
    (socket) => void socket.write("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/200\r\n\r\n"),
    (socket) => void socket.end("SSH-2.0-200 OK\r\n"),
    (socket) => void socket.write("2".repeat(100_000)),
    (socket) => void socket.destroy(),
    () => {},
    (socket) => void setTimeout(right, 3000, socket).unref(),
  ];
  let answer: (socket: Socket) => void = right;
  const server = createServer((socket) => answer(socket.on("error", () => {})));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  try {
    const start = (revision: number) =>
      AgentProcess.start(place.node, { revision, healthzPort: port });
    const first = await start(1);
    await first.proves();
    await first[Symbol.asyncDispose]();
    place.node.mount(2, { additional: { "a.io": "newer" } });
    // Otherwise the renewed Lease shows that the kubelet works.
    place.node.api?.lease(undefined);
    for (const wrongAnswer of answers) {
      answer = wrongAnswer;
      // A new agent for each answer, because an agent logs each code once a minute.
      await using agent = await start(2);
      await agent.shows(/GPS2(?:21|72)/, 40_000);
    }
    server.close();
    await using agent = await start(2);
    await agent.shows(/GPS2(?:21|72)/, 40_000);
    assert.equal(place.systemd.restartCalls, 1);
    assert.equal(place.node.file, ours);
  } finally {
    server.close();
  }
});

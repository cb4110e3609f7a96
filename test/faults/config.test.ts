/**
 * States of config.json, the journal and the kubelet's directory when the agent starts, and changes
 * to them by other programs.
 */
import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { AgentProcess, encode, inTime } from "../harness/agent/agent.ts";
import { many } from "../harness/agent/deployed.ts";
import { slowFsync } from "./phases.ts";
import { content, ours, AgentPlace } from "./place.ts";

const theirs = { "b.io": { auth: encode("theirs") } };
const oursBeside = (others: object) => ({ auths: { ...others, "a.io": { auth: encode("ours") } } });

/** Replaces config.json in one step, as another program might do. */
function replaceConfig({ node }: AgentPlace, value: unknown): void {
  writeFileSync(join(node.root, "new"), JSON.stringify(value));
  renameSync(join(node.root, "new"), node.config);
}

function entries(prefix: string) {
  return Object.fromEntries(
    Object.entries(many(prefix)).map(([key, password]) => [key, { auth: encode(password) }]),
  );
}

test("adds our entries to any plain file, and restores the file's bytes and mode in a withdrawal", async () => {
  type Row = readonly [what: string, bytes: string | undefined, mode?: number];
  const rows: readonly Row[] = [
    ["absent", undefined],
    ["empty", ""],
    ["0644", JSON.stringify({ auths: theirs }), 0o644],
    ["read-only", JSON.stringify({ auths: theirs }, undefined, 2), 0o400],
    ["0640", JSON.stringify({ auths: theirs }), 0o640],
    ["1 MiB", JSON.stringify({ auths: entries("b") }), 0o600],
    ["not JSON", '{"auths":{', 0o640],
    ["an entry we cannot parse", '{"auths":[]}', 0o600],
  ];
  for (const [what, bytes, mode = 0o600] of rows) {
    await using place = await AgentPlace.make();
    const { node, systemd } = place;
    if (bytes !== undefined) {
      writeFileSync(node.config, bytes);
      chmodSync(node.config, mode);
    }
    const hasMode = (expected: number) =>
      assert.equal(statSync(node.config).mode & 0o7777, expected, what);
    {
      await using agent = await place.agent(["--probation=0s"]);
      await agent.proves();
      const others =
        bytes?.startsWith('{"auths":{"') || bytes?.startsWith("{\n") ? JSON.parse(bytes).auths : {};
      assert.deepEqual(JSON.parse(node.file ?? ""), oursBeside(others), what);
      hasMode(mode & ~0o077);
    }
    node.mount(2, {});
    await using agent = await place.agent(["--probation=0s"], 2);
    await agent.removes();
    assert.equal(node.file, bytes, what);
    if (bytes !== undefined) hasMode(mode);
    assert.equal(systemd.restartCalls, 1, what);
  }
});

test("neither follows nor replaces a symbolic link, whether its target exists or not", async () => {
  for (const targetExists of [true, false]) {
    await using place = await AgentPlace.make();
    const { node, systemd } = place;
    const target = join(node.root, "target");
    if (targetExists) writeFileSync(target, "{}");
    symlinkSync(target, node.config);
    await using agent = await place.agent();
    await agent.shows(/GPS206 .*symbolic link/);
    assert.ok(lstatSync(node.config).isSymbolicLink());
    assert.equal(statSync(target, { throwIfNoEntry: false })?.size, targetExists ? 2 : undefined);
    assert.equal(systemd.restartCalls, 0);
    rmSync(node.config);
    await agent.proves(40_000);
  }
});

test("reports a config.json that is too large for the agent, with or without our entries, and leaves it unchanged", async () => {
  const bytes = (count: number) =>
    JSON.stringify({ note: "x".repeat(count - '{"note":""}'.length) });
  const values = (count: number) => JSON.stringify({ notes: Array(count - 1).fill(0) });
  const rows: readonly (readonly [file: string, why: RegExp])[] = [
    [bytes(2 * 1024 * 1024 + 1), /it has 2097153 bytes, more than 2 MiB/],
    [bytes(2 * 1024 * 1024), /it would have more than 2 MiB/],
    [values(22_549), /it has 22549 values in 45107 bytes, more than/],
    [values(22_548), /it would have 22551 values in 451\d\d bytes, more than/],
  ];
  for (const [file, why] of rows) {
    await using place = await AgentPlace.make();
    const { node, systemd } = place;
    writeFileSync(node.config, file);
    await using agent = await place.agent();
    await agent.shows(why);
    assert.equal(node.file, file);
    assert.equal(systemd.restartCalls, 0);
    writeFileSync(node.config, "{}");
    await agent.proves();
    assert.deepEqual(JSON.parse(node.file ?? ""), oursBeside({}));
  }
});

test("keeps an entry that another program writes between the agent's reading and rename of the file", async () => {
  await using place = await AgentPlace.make();
  const { node, systemd } = place;
  writeFileSync(node.config, JSON.stringify({ auths: theirs }));
  await using agent = await AgentProcess.start(node, {
    revision: 1,
    healthzPort: systemd.healthzPort,
    under: slowFsync,
  });
  // The agent has read the file, and has staged its new bytes.
  assert.ok(await inTime(() => existsSync(join(node.folder, "config.json.staged"))));
  const newer = { ...theirs, "c.io": { auth: encode("meanwhile") } };
  replaceConfig(place, { auths: newer });
  await agent.proves(30_000);
  assert.match(agent.output, /GPS209/);
  assert.deepEqual(JSON.parse(node.file ?? ""), oursBeside(newer));
  assert.equal(systemd.restartCalls, 1);
});

test("recognizes our entry after the journal was deleted, and removes the entry in a withdrawal", async () => {
  await using place = await AgentPlace.make();
  const { node, systemd } = place;
  {
    await using agent = await place.agent();
    await agent.proves();
  }
  rmSync(node.folder, { recursive: true });
  {
    await using agent = await place.agent();
    await agent.shows("GPS254");
  }
  node.mount(2, {});
  await using agent = await place.agent([], 2);
  await agent.removes();
  assert.equal(node.file, undefined);
  assert.equal(systemd.restartCalls, 1);
});

test("adds our entries to config.json in a new kubelet directory that replaces the old directory", async () => {
  await using place = await AgentPlace.make();
  const { node, systemd } = place;
  await using agent = await place.agent();
  await agent.proves();
  const next = `${node.kubelet}.next`;
  mkdirSync(next);
  writeFileSync(join(next, "config.json"), JSON.stringify({ auths: theirs }));
  renameSync(node.kubelet, `${node.kubelet}.away`);
  renameSync(next, node.kubelet);
  // This mount makes the agent observe the node at once. At rest the agent observes the node only
  // every 30 s.
  node.mount(1, content);
  const isThere = () => node.file === JSON.stringify({ auths: oursBeside(theirs).auths });
  assert.ok(await inTime(isThere, 40_000), agent.output);
  // The agent treats the missing entries as drift: it repairs the file, and waits until the kubelet
  // reads the file again by itself.
  await agent.shows("GPS254");
  assert.equal(systemd.restartCalls, 1);
  assert.equal(readFileSync(`${node.kubelet}.away/config.json`, "utf8"), ours);
});

test("creates nothing and reports the reason while the agent is not allowed to enter the kubelet's directory", async () => {
  await using place = await AgentPlace.make();
  const { node, systemd } = place;
  writeFileSync(node.config, JSON.stringify({ auths: theirs }));
  chmodSync(node.kubelet, 0);
  await using agent = await place.agent();
  await agent.shows(/GPS20[68] .*EACCES/);
  assert.equal(systemd.restartCalls, 0);
  chmodSync(node.kubelet, 0o700);
  await agent.proves(40_000);
  assert.deepEqual(JSON.parse(node.file ?? ""), oursBeside(theirs));
  assert.equal(systemd.restartCalls, 1);
});

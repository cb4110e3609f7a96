/**
 * Power loss: only what was synced is sure to be there afterwards. strace records every call by
 * which the agent changes the file system; the record is replayed, and the power fails after each
 * call. What was not synced is lost or kept in every combination, and a file whose bytes were not
 * synced counts as garbage. What is left must be one document or the other, with ours in place its
 * journal, with a journal the previous bytes that it names, and no other pair of document and
 * journal than a kill may leave: kill.test.ts shows what becomes of those.
 */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import test from "node:test";
import { kubeadmFlagsFile, providerFiles } from "#contract/names.ts";
import { keeping, type NodeDirectory } from "../harness/agent/agent.ts";
import { content, ours, AgentPlace } from "./place.ts";
import { answered, installProvider } from "./provider.ts";
import {
  comesBack,
  crashes as crashesAtOnce,
  type ScriptedSystemd,
} from "../harness/agent/scripted-systemd.ts";
import { inOrder, traced } from "./trace.ts";

/** One state of the disk: name → file, and whether a file's bytes are sure. */
type Names = ReadonlyMap<string, string>;
type Crash = Readonly<{
  after: string;
  names: Names;
  sure: (file: string | undefined) => boolean;
  /** Nothing is kept but what was synced. */
  least: boolean;
  /** What a kill at that moment leaves. */
  killed: Names;
}>;

/** Changes of names by one call, all or nothing. */
type Change = Readonly<{
  directory: string;
  names: readonly (readonly [name: string, file: string | undefined])[];
}>;

/** Replays the record; answers every state in which the power may have left the disk. */
function crashes(lines: readonly string[], start: Names): Crash[] {
  const durable = new Map(start);
  const now = new Map(start);
  const sure = new Set(start.values());
  let pending: Change[] = [];
  let files = 0;
  const all: Crash[] = [];
  const change = (directory: string, ...names: Change["names"]) => {
    // What is only staged is swept whatever becomes of it; each would double the states.
    if (names.every(([name]) => /\.staged(\.\d+)?$/.test(name))) apply(durable, names);
    else pending.push({ directory, names });
    apply(now, names);
  };
  for (const line of lines) {
    const [, call = "", rest = ""] = /^(\w+)\((.*)\) += \d+/.exec(line) ?? [];
    const [path = "", second = ""] = Array.from(rest.matchAll(/"([^"]*)"/g), ([, one = ""]) => one);
    const [, open = ""] = /^\d+<([^>]*)>/.exec(rest) ?? [];
    if (call === "openat" && rest.includes("O_CREAT") && !now.has(path))
      change(dirname(path), [path, `${basename(path)} #${(files += 1)}`]);
    else if (call === "openat" && rest.includes("O_TRUNC")) sure.delete(now.get(path) ?? "");
    else if (/^p?write/.test(call)) sure.delete(now.get(open) ?? "");
    else if (call === "mkdir") change(dirname(path), [path, "directory"]);
    else if (call === "rename") change(dirname(second), [path, undefined], [second, now.get(path)]);
    else if (call === "unlink" || call === "rmdir") change(dirname(path), [path, undefined]);
    else if (call === "fsync" && now.has(open) && now.get(open) !== "directory")
      sure.add(now.get(open) ?? "");
    else if (call === "fsync") {
      for (const one of pending) if (one.directory === open) apply(durable, one.names);
      pending = pending.filter(({ directory }) => directory !== open);
    } else continue;
    assert.ok(pending.length < 8, `${pending.length} changes of names are not synced`);
    const synced = new Set(sure);
    const killed = new Map(now);
    for (let kept = 0; kept < 2 ** pending.length; kept += 1) {
      const names = new Map(durable);
      for (const [bit, one] of pending.entries()) if ((kept >> bit) & 1) apply(names, one.names);
      all.push({
        after: line,
        names,
        sure: (file) => file !== undefined && synced.has(file),
        least: kept === 0,
        killed,
      });
    }
  }
  return all;
}

function apply(names: Map<string, string>, changes: Change["names"]): void {
  for (const [name, file] of changes)
    if (file === undefined) names.delete(name);
    else names.set(name, file);
}

/**
 * Runs the agent until it shows `code` or gives up, and answers what its file operations were, in
 * their order.
 */
async function recorded(
  node: NodeDirectory,
  systemd: ScriptedSystemd,
  revision: number,
  code: string,
): Promise<string[]> {
  const calls = ["openat", "rename", "unlink", "mkdir", "rmdir", "fsync", "pwrite64", "write"];
  const threads = await traced(node, systemd, revision, calls, async (agent) => {
    const seen = await Promise.race([agent.ended(), agent.shows(200, code)]);
    assert.ok(
      seen === 1 ? node.message.includes(code) : typeof seen === "string" && seen.includes(code),
      agent.output,
    );
  });
  return inOrder(threads);
}

/**
 * Every state leaves config.json whole, beside ours a whole journal with what it names, and the two
 * as a kill may leave them.
 */
function check(
  node: NodeDirectory,
  states: readonly Crash[],
  old: (file: string) => boolean,
  named: (journal: string) => readonly string[] = () => [before],
): void {
  const { config, folder } = node;
  const journal = join(folder, "journal.json");
  const pair = (names: Names) => `${names.get(config)} with ${names.get(journal)}`;
  const kills = new Set(states.map(({ killed }) => pair(killed)));
  for (const { after, names, sure } of states) {
    const file = names.get(config) ?? "";
    assert.ok(sure(file), `config.json is torn or gone after ${after}`);
    assert.ok(
      old(file) || (names.has(folder) && sure(names.get(journal))),
      `ours without a journal after ${after}`,
    );
    const [, ...previous] = keeping(...named(names.get(journal) ?? ""));
    const whole = previous.every((name) => sure(names.get(join(folder, name))));
    assert.ok(
      whole || !names.has(journal),
      `${names.get(journal)} without its previous bytes after ${after}`,
    );
    assert.ok(kills.has(pair(names)), `${pair(names)}, which no kill leaves, after ${after}`);
  }
  const files = new Set(states.map(({ names }) => old(names.get(config) ?? "")));
  assert.equal(files.size, 2, "both documents were in place");
}

/** The journals of a run in their order. */
function journalsOf({ folder }: NodeDirectory, states: readonly Crash[]): string[] {
  const files = states.map(({ killed }) => killed.get(join(folder, "journal.json")));
  return Array.from(new Set(files)).filter((file) => file !== undefined);
}

function fresh({ kubelet, config }: NodeDirectory): Map<string, string> {
  return new Map([
    [kubelet, "directory"],
    [config, "old"],
  ]);
}

/** A node with a revision in force. */
function inForce(node: NodeDirectory): Map<string, string> {
  return new Map([
    ...fresh(node),
    [node.folder, "directory"],
    [node.config, "ours"],
    ...node.kept.map((name) => [join(node.folder, name), name] as const),
  ]);
}

const before = '{"auths":{}}\n';

test("power loss after any call of an apply and of a withdrawal: one document or the other, and ours never without its journal", async (t) => {
  await using place = await AgentPlace.make();
  const { node, systemd } = place;
  writeFileSync(node.config, before);
  const applying = crashes(await recorded(node, systemd, 1, "GPS200"), fresh(node));
  assert.equal(node.file, `${ours}\n`);
  check(node, applying, (file) => file === "old");
  assert.notEqual(
    applying.findLast(({ least }) => least)?.names.get(node.config),
    "old",
    "ready before it was durable",
  );

  node.mount(2, {});
  const start = inForce(node);
  const withdrawing = crashes(await recorded(node, systemd, 2, "GPS224"), start);
  assert.equal(node.file, before);
  check(node, withdrawing, (file) => file !== "ours");
  t.diagnostic(`${applying.length} and ${withdrawing.length} states`);
});

test("power loss after any call of a rotation: the bytes to go back to are there for as long as a journal names them", async (t) => {
  await using place = await AgentPlace.make();
  const { node, systemd } = place;
  writeFileSync(node.config, before);
  await recorded(node, systemd, 1, "GPS200");
  const first = node.file ?? "";
  node.mount(2, { additional: { "a.io": "rotated" } });
  const start = inForce(node);
  const states = crashes(await recorded(node, systemd, 2, "GPS200"), start);
  const journals = journalsOf(node, states);
  assert.ok(journals.length > 3, journals.join());
  // The one at rest before it, and the one that confirms it, have nothing to go back to.
  const changing = new Set(journals.slice(1, -1));
  check(
    node,
    states,
    (file) => file === "ours",
    (journal) => (changing.has(journal) ? [before, first] : [before]),
  );
  assert.deepEqual(node.kept, keeping(before));
  t.diagnostic(`${states.length} states`);
});

test("H18: power loss after any call of a rollback: one document or the other, and ours never without its journal", async (t) => {
  await using place = await AgentPlace.make();
  const { node, systemd } = place;
  writeFileSync(node.config, before);
  systemd.startLimitMicros = 100_000n;
  systemd.fate = () => (node.file === before ? comesBack : crashesAtOnce);
  const states = crashes(await recorded(node, systemd, 1, "GPS218"), fresh(node));
  assert.equal(node.file, before);
  // The first file that is put there is ours, the second one the old one again.
  const files = Array.from(new Set(states.map(({ names }) => names.get(node.config) ?? "")));
  assert.equal(files.length, 3, files.join());
  check(node, states, (file) => file !== files[1]);
  assert.equal(
    states.findLast(({ least }) => least)?.names.get(node.config),
    files[2],
    "gave up before it was durable",
  );
  t.diagnostic(`${states.length} states`);
});

const registering = ["--delivery=CredentialProvider", "--registration=Agent"];
const { folder, bin, configs, script, config: configFile, answer, stamp } = providerFiles;

/** A node of kubeadm's, and what lies there. */
async function kubeadm(): Promise<AgentPlace & { env: string }> {
  const place = await AgentPlace.make();
  const { node, systemd } = place;
  const env = join(node.kubelet, kubeadmFlagsFile);
  writeFileSync(node.config, before);
  writeFileSync(env, 'KUBELET_KUBEADM_ARGS="--v=2"\n');
  node.flags = registering;
  systemd.commandOf = () => `kubelet ${/"(.*)"/.exec(readFileSync(env, "utf8"))?.[1]}`;
  return Object.assign(place, { env });
}

/**
 * In every state kubeadm's file is whole, and while it names the provider, so is all that it names:
 * a kubelet exits at its start where one of them is missing or torn. `has`: whether the file of
 * this name has our flags.
 */
function starts(
  node: NodeDirectory,
  states: readonly Crash[],
  env: string,
  has: (file: string) => boolean,
) {
  const seen = new Set<boolean>();
  for (const { after, names, sure } of states) {
    const file = names.get(env);
    assert.ok(file !== undefined && sure(file), `${env} is torn or gone after ${after}`);
    seen.add(has(file));
    if (!has(file)) continue;
    for (const name of [script, configFile, answer])
      assert.ok(sure(names.get(join(node.kubelet, name))), `${name} is no more after ${after}`);
    const journal = names.get(join(node.folder, "journal.json"));
    assert.ok(sure(journal), `flags of ours without a journal after ${after}`);
  }
  assert.deepEqual(seen, new Set([false, true]));
}

test("power loss after any call of a registration, and of its withdrawal: a kubelet's flags name nothing that is not there", async (t) => {
  await using place = await kubeadm();
  const { node, systemd, env } = place;
  const begin = new Map([...fresh(node), [env, "theirs"]]);
  const registration = crashes(await recorded(node, systemd, 1, "GPS200"), begin);
  starts(node, registration, env, (file) => file !== "theirs");
  assert.notEqual(registration.findLast(({ least }) => least)?.names.get(env), "theirs");

  node.mount(2, {});
  const here = (name: string) => join(node.kubelet, name);
  const start = registered(place);
  const withdrawal = crashes(await recorded(node, systemd, 2, "GPS224"), start);
  starts(node, withdrawal, env, (file) => file === "ours");
  const last = withdrawal.findLast(({ least }) => least)?.names;
  for (const name of [folder, script, configFile, answer]) assert.ok(!last?.has(here(name)), name);
  t.diagnostic(`${registration.length} and ${withdrawal.length} states`);
});

/** What a registration that is in force has laid, by names of ours. */
function registered({ node, env }: Awaited<ReturnType<typeof kubeadm>>): Map<string, string> {
  const here = (name: string) => join(node.kubelet, name);
  return new Map([
    ...fresh(node),
    [node.folder, "directory"],
    ...node.kept.map((name) => [join(node.folder, name), name] as const),
    ...[folder, bin, configs].map((name) => [here(name), "directory"] as const),
    ...[script, configFile, answer].map((name) => [here(name), name] as const),
    [env, "ours"],
  ]);
}

test("H18: power loss after any call of a registration's rollback: the flags are there with all that they name, or taken out", async (t) => {
  await using place = await kubeadm();
  const { node, systemd, env } = place;
  const theirs = readFileSync(env, "utf8");
  systemd.startLimitMicros = 100_000n;
  systemd.fate = () => (readFileSync(env, "utf8") === theirs ? comesBack : crashesAtOnce);
  const begin = new Map([...fresh(node), [env, "theirs"]]);
  const states = crashes(await recorded(node, systemd, 1, "GPS218"), begin);
  assert.equal(readFileSync(env, "utf8"), theirs);
  // The second file of this name is the one with flags, the third as the first.
  const files = Array.from(new Set(states.map(({ names }) => names.get(env) ?? "")));
  assert.equal(files.length, 3, files.join());
  starts(node, states, env, (file) => file === files[1]);
  assert.equal(
    states.findLast(({ least }) => least)?.names.get(env),
    files[2],
    "gave up before it was durable",
  );
  t.diagnostic(`${states.length} states`);
});

test("power loss after any call of a change of mode, to a registration and back: config.json or the answer has it, never none", async (t) => {
  await using place = await kubeadm();
  const { node, systemd, env } = place;
  node.flags = [];
  await recorded(node, systemd, 1, "GPS200");
  const inFile = node.file;

  node.mount(2, content);
  node.flags = registering;
  const begin = new Map([...inForce(node), [env, "theirs"]]);
  const towards = crashes(await recorded(node, systemd, 2, "GPS200"), begin);
  starts(node, towards, env, (file) => file !== "theirs");
  // Nobody has asked yet, so that config.json keeps what it has.
  for (const { after, names, sure } of towards)
    assert.ok(names.get(node.config) === "ours" && sure("ours"), `no config.json after ${after}`);

  // As if somebody had asked: config.json is without it, and the answer is all that there is.
  writeFileSync(join(node.kubelet, stamp), "");
  node.mount(3, content);
  await recorded(node, systemd, 3, "GPS200");
  assert.notEqual(node.file, inFile);

  node.mount(4, content);
  node.flags = [];
  const start = registered(place);
  const back = crashes(await recorded(node, systemd, 4, "GPS200"), start);
  assert.equal(node.file, inFile);
  assert.deepEqual(answered(node.kubelet), {});
  for (const { after, names, sure } of back) {
    const [file, said] = [names.get(node.config), names.get(join(node.kubelet, answer))];
    assert.ok(sure(file) && sure(said), `config.json or the answer is torn or gone after ${after}`);
    assert.ok(file !== "old" || said === answer, `served by nobody after ${after}`);
    assert.equal(names.get(env), "ours", "what a kubelet was told stays");
  }
  const answers = new Set(back.map(({ names }) => names.get(join(node.kubelet, answer))));
  assert.equal(answers.size, 2, "the answer was there, and was emptied");
  t.diagnostic(`${towards.length} and ${back.length} states`);
});

test("power loss after any call of a rotation by a provider: the answer is whole, the old one or the new one", async (t) => {
  await using place = await AgentPlace.make();
  const { node, systemd } = place;
  writeFileSync(node.config, before);
  installProvider(node.kubelet);
  node.flags = ["--delivery=CredentialProvider", "--restart=Never"];
  await recorded(node, systemd, 1, "GPS200");
  node.mount(2, { additional: { "a.io": "second" } });
  const here = join(node.kubelet, answer);
  const start = new Map([
    ...inForce(node),
    ...[folder, bin, configs].map((name) => [join(node.kubelet, name), "directory"] as const),
    [here, "first"],
  ]);
  const states = crashes(await recorded(node, systemd, 2, "GPS200"), start);
  assert.deepEqual(answered(node.kubelet), { "a.io": "second" });
  for (const { after, names, sure } of states)
    assert.ok(sure(names.get(here)), `the answer is torn or gone after ${after}`);
  assert.equal(new Set(states.map(({ names }) => names.get(here))).size, 2);
  assert.notEqual(
    states.findLast(({ least }) => least)?.names.get(here),
    "first",
    "ready before it was durable",
  );
  t.diagnostic(`${states.length} states`);
});

/**
 * Only config.json and our folder beside it (the journal and the other programs' file) may contain
 * a credential. An agent that crashes leaves no credential in any other place on the node.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import test from "node:test";
import { AgentProcess, encode, keeping } from "../harness/agent/agent.ts";
import { AgentPlace } from "./place.ts";

const planted = ["planted-by-us", "planted-by-them"];
const needles = planted.flatMap((password) => [password, encode(password)]);

/** Files below `directory` that contain a planted credential, encoded or plain. */
function leaks(directory: string): string[] {
  const patterns = needles.flatMap((needle) => ["-e", needle]);
  const { stdout } = spawnSync("grep", ["-rlaF", ...patterns, directory], { encoding: "utf8" });
  return stdout
    .split("\n")
    .filter(Boolean)
    .map((file) => relative(directory, file))
    .toSorted();
}

/** Types of notes in a core file, from elf.h: NT_PRFPREG and NT_X86_XSTATE. */
const vectorNotes = new Set([2, 0x202]);

/**
 * Overwrites the vector registers of every thread in a core file with zeros. The kernel writes
 * these registers into every core file, whatever the process's coredump_filter. They contain the 32
 * or 64 bytes that were copied last, which are sometimes a password (in one core file of twelve on
 * a machine with AVX-512). The test searches all other bytes of the file.
 */
function blankVectorRegisters(core: string): void {
  const bytes = readFileSync(core);
  const header = Number(bytes.readBigUInt64LE(32));
  assert.equal(bytes.readUInt32LE(header), 4, "the first segment is PT_NOTE");
  const [offset = 0, size = 0] = [8, 32].map((at) => Number(bytes.readBigUInt64LE(header + at)));
  const aligned = (length: number) => Math.ceil(length / 4) * 4;
  for (let at = offset; at < offset + size;) {
    const [name = 0, length = 0, type = 0] = [0, 4, 8].map((field) =>
      bytes.readUInt32LE(at + field),
    );
    const begin = at + 12 + aligned(name);
    at = begin + aligned(length);
    if (vectorNotes.has(type)) bytes.fill(0, begin, at);
  }
  writeFileSync(core, bytes);
}

/**
 * If the kernel pipes core files to a program or writes them into another directory, the test is
 * skipped, because it has no core file to search.
 */
const pattern = readFileSync("/proc/sys/kernel/core_pattern", "utf8").trim();
const skip = /[/|%]/.test(pattern) && `cores of this machine go to ${pattern}`;

test(
  "when the agent aborts, leaves no credential in temporary files, output, termination message or core file (except in vector registers)",
  { skip },
  async (t) => {
    await using place = await AgentPlace.make();
    const { node, systemd } = place;
    const crash = join(node.root, "cwd");
    mkdirSync(crash);
    const theirs = JSON.stringify({ auths: { "a.io": { auth: encode("planted-by-them") } } });
    writeFileSync(node.config, theirs);
    node.mount(1, { additional: { "a.io": "planted-by-us" } });
    const options = {
      revision: 1,
      healthzPort: systemd.healthzPort,
    };
    const under = ["sh", "-c", 'ulimit -c unlimited && cd "$0" && exec "$@"', crash];
    await using agent = await AgentProcess.start(node, { ...options, under });
    // Sends the signal only after the files are written. While write-file-atomic writes a file,
    // this library catches SIGABRT, and loses the signal if the write ends before the signal is
    // handled (one abort in twenty on a busy machine).
    await agent.proves();
    assert.equal(await agent.end("SIGABRT"), "SIGABRT");
    const [core = ""] = readdirSync(crash);
    assert.ok(existsSync(join(crash, core)) && core.startsWith(pattern), "no core was made");
    t.diagnostic(`a core of ${statSync(join(crash, core)).size} bytes`);
    blankVectorRegisters(join(crash, core));
    assert.deepEqual(leaks(crash), []);
    for (const needle of needles)
      assert.ok(!`${agent.output}${JSON.stringify(node.api?.reports)}`.includes(needle));
    await using next = await AgentProcess.start(node, options);
    await next.proves();
    const mounted = leaks(node.secret).map((file) => join("secret", file));
    assert.deepEqual(
      leaks(node.root),
      [
        "kubelet/config.json",
        ...keeping(theirs).map((name) => `kubelet/global-pull-secret/${name}`),
        ...mounted,
      ].toSorted(),
    );
    for (const name of node.kept)
      assert.equal(statSync(join(node.folder, name)).mode & 0o777, 0o600);
    for (const needle of needles) assert.ok(!next.output.includes(needle));
  },
);

test("prints no secret that is in a registry key of the node's file", async () => {
  await using place = await AgentPlace.make();
  const { node, systemd } = place;
  const printed: string[] = [];
  const key = (at: number) => `https://robot:planted-in-a-key${at}@registry.corp`;
  const files: readonly (readonly [code: string, text: string])[] = [
    ["GPS206", `{"auths":{"${key(1)}":{},"${key(1)}":{}}}`],
    ["GPS206", `{"auths":{"${key(2)}":{"__proto__":{}}}}`],
    ["GPS206", `{"${key(3)}":{"a":"\\ud800"}}`],
  ];
  for (const [code, text] of files) {
    writeFileSync(node.config, text);
    await using agent = await AgentProcess.start(node, {
      revision: 1,
      healthzPort: systemd.healthzPort,
    });
    printed.push(await agent.shows(code));
    printed.push(agent.output, JSON.stringify(node.api?.reports));
  }
  assert.match(printed.join(""), /registry\.corp/);
  assert.ok(!/planted-in-a-key/.test(printed.join("")), "a planted secret was printed");
});

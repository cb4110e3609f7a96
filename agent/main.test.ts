/** The wiring: what the agent's program writes at its start. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import test, { type TestContext } from "node:test";

/** The codes that the agent logs until its first round, and when it ends. */
async function startOf(t: TestContext, hiddenFiles: string): Promise<string[]> {
  const directory = mkdtempSync(join(tmpdir(), "gps-main-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const places = ["secret", "kubelet", "pod", "systemd"].map((one) => `--${one}-directory`);
  const flags = places.map((flag) => `${flag}=${directory}`);
  const args = [
    "agent/main.ts",
    ...flags,
    `--hidden-files=${hiddenFiles}`,
    `--termination-log=${join(directory, "log")}`,
    // The agent continues without this port if the port is taken.
    "--probe-port=49243",
  ];
  const agent = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const codes: string[] = [];
  const ended = once(agent, "exit");
  for await (const line of createInterface({ input: agent.stdout })) {
    codes.push((JSON.parse(line) as { code: string }).code);
    // GPS243 is logged before the first round, every other code in the first round or later.
    if (codes.at(-1) !== "GPS243") agent.kill("SIGTERM");
  }
  assert.deepEqual(await ended, [0, null]);
  return codes;
}

test("with --hidden-files Skip, logs at its start that it does not search for hidden files", async (t) => {
  for (const [hiddenFiles, count] of [
    ["Skip", 1],
    ["Look", 0],
    ["Ignore", 0],
  ] as const) {
    const codes = await startOf(t, hiddenFiles);
    assert.ok(codes.length > 1);
    assert.equal(codes.filter((code) => code === "GPS243").length, count, hiddenFiles);
  }
});

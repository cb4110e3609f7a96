/** The agent's start from the cache of its code, as the image has it. */
import assert from "node:assert/strict";
import { isAscii } from "node:buffer";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { parseConfig } from "../controller/config.ts";
import { daemonSet } from "../controller/daemonset.ts";
import { cacheQuestion, copyAgent } from "./app.ts";
import { bundle } from "./bundle.ts";

const app = mkdtempSync(join(tmpdir(), "app-"));
after(() => rmSync(app, { recursive: true }));
const inApp = (name: string): string => join(app, name);

before(async () => {
  await bundle();
  copyAgent(app);
});

/** Whether V8 takes agent.cache, with these flags of Node. Asked in a process of its own, as each flag counts for one. */
function accepted(flags: readonly string[]): boolean {
  return (
    spawnSync(process.execPath, [...flags, "-e", cacheQuestion(app)], { encoding: "utf8" }).stdout.trim() === "false"
  );
}

/** Exit code and error of an agent that is told nonsense. */
function misused() {
  const { status, stderr } = spawnSync(process.execPath, [inApp("start.cjs"), "--settle=x"], { encoding: "utf8" });
  return [status, stderr];
}
const refusal = [2, "REVISION: (not set) is not a whole number from 0 to 9007199254740991\n"];

test("what the image's build leaves is taken by V8, with the flags that the DaemonSet gives", () => {
  assert.ok(isAscii(readFileSync(inApp("agent.cjs"))), "start.cjs reads it as such");
  const built = spawnSync(process.execPath, [inApp("warm.cjs")], { encoding: "utf8" });
  assert.equal(built.status, 0, built.stderr);
  const { config } = parseConfig([]) as Extract<ReturnType<typeof parseConfig>, { ok: true }>;
  const declared = daemonSet({ ...config.agent, image: "", minReadySeconds: 5 }, 1, {
    stage: "wave",
    maxUnavailable: 1,
  });
  const command = declared.spec?.template.spec?.containers[0]?.command ?? [];
  assert.deepEqual([command.at(0), command.at(-1)], ["/nodejs/bin/node", "/app/start.cjs"]);
  assert.ok(accepted(command.slice(1, -1)));
  assert.deepEqual(misused(), refusal);
});

test("a cache of another V8, of other flags, of another bundle, of nothing, and none at all: the agent starts without it", () => {
  const bytes = readFileSync(inApp("agent.cache"));
  // What a cache begins with: magic, V8's version, the source's length, flags.
  const other = [0, 4, 8, 12].map((at) => Buffer.from(bytes).fill(0xff, at, at + 4));
  for (const spoiled of [...other, bytes.subarray(0, 20), Buffer.alloc(0)]) {
    writeFileSync(inApp("agent.cache"), spoiled);
    assert.ok(!accepted([]));
    assert.deepEqual(misused(), refusal);
  }
  rmSync(inApp("agent.cache"));
  assert.deepEqual(misused(), refusal);
});

test("the image's build says at once that its Node is too old", () => {
  const old = inApp("old.cjs");
  writeFileSync(old, 'delete require("node:net").BoundSocket;');
  const { status, stderr } = spawnSync(process.execPath, ["--require", old, inApp("warm.cjs")], { encoding: "utf8" });
  const line = `Node ${process.version} is too old for the agent: give a BASE with Node 24.19 or newer\n`;
  assert.deepEqual([status, stderr], [1, line]);
});

test("the image's build fails where the agent does not ask for the restart", () => {
  const broken = readFileSync(inApp("agent.cjs"), "utf8").replaceAll("RestartUnit", "ReloadUnit");
  writeFileSync(inApp("agent.cjs"), broken);
  const { status, stderr } = spawnSync(process.execPath, [inApp("warm.cjs")], { encoding: "utf8" });
  assert.deepEqual([status, /asked for (\w+)/.exec(stderr)?.[1]], [1, "ReloadUnit"]);
});

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { Rest } from "./rest.ts";
import { resync, type Step, wait } from "./step.ts";

const nothing: Step = { action: "nothing", code: "GPS200", ready: true, again: resync };

function place(t: TestContext) {
  const root = mkdtempSync(join(tmpdir(), "gps-rest-"));
  t.after(() => rmSync(root, { recursive: true }));
  const [secretDirectory, kubeletDirectory] = [join(root, "secret"), join(root, "kubelet")];
  const folder = join(kubeletDirectory, "global-pull-secret");
  for (const directory of [secretDirectory, folder]) mkdirSync(directory, { recursive: true });
  const swap = (name: string) => {
    symlinkSync(name, join(secretDirectory, "..new"));
    renameSync(join(secretDirectory, "..new"), join(secretDirectory, "..data"));
  };
  swap("..1");
  writeFileSync(join(kubeletDirectory, "config.json"), "{}");
  writeFileSync(join(folder, "journal.json"), "{}");
  return { secretDirectory, kubeletDirectory, folder, swap };
}

/** A minute passes from one look to the next. */
function agentOf(directories: Readonly<{ secretDirectory: string; kubeletDirectory: string }>): Rest {
  let now = 0;
  return new Rest(directories, () => (now += 60_000));
}

/** Runs `next` and answers whether it looked. */
async function looks(rest: Rest, { step = nothing, healthy = true } = {}): Promise<boolean> {
  let looked = false;
  const decide = () => {
    looked = true;
    return Promise.resolve(step);
  };
  assert.deepEqual(await rest.next(decide, () => Promise.resolve(healthy)), step);
  assert.equal(rest.rests, !looked);
  return looked;
}

test("at rest nothing is read as long as nothing changes, and everything after any change", async (t) => {
  const { swap, kubeletDirectory, folder, ...rest } = place(t);
  const agent = agentOf({ kubeletDirectory, ...rest });
  const config = join(kubeletDirectory, "config.json");
  const changes: Readonly<Record<string, () => void>> = {
    "the first look": () => {},
    "the Secret is swapped": () => swap("..2"),
    "config.json is written with as many bytes": () => writeFileSync(config, "[]"),
    "config.json is written, and its time is set back": () => {
      writeFileSync(config, "{}");
      utimesSync(config, 0, 0);
    },
    "config.json is gone": () => rmSync(config),
    "the journal is written": () => writeFileSync(join(folder, "journal.json"), "[]"),
    "a file comes to the folder": () => writeFileSync(join(folder, "journal.json.corrupt"), ""),
    "the folder is gone": () => rmSync(folder, { recursive: true }),
  };
  for (const [change, make] of Object.entries(changes)) {
    make();
    assert.deepEqual([await looks(agent), await looks(agent)], [true, true], change);
    assert.deepEqual([await looks(agent), await looks(agent)], [false, false], `long after: ${change}`);
  }
});

test("a kubelet that does not answer is looked at again and again", async (t) => {
  const agent = agentOf(place(t));
  const down = { step: wait("GPS221", 1000), healthy: false };
  assert.deepEqual([await looks(agent), await looks(agent), await looks(agent)], [true, true, false]);
  assert.deepEqual([await looks(agent, down), await looks(agent, down), await looks(agent)], [true, true, true]);
});

test("what changes while it is looked at is looked at again", async (t) => {
  const { swap, ...directories } = place(t);
  const agent = agentOf(directories);
  const healthz = () => Promise.resolve(true);
  const during = () => {
    swap("..2");
    return Promise.resolve(nothing);
  };
  await agent.next(during, healthz);
  assert.deepEqual([await looks(agent), await looks(agent), await looks(agent)], [true, true, false]);
});

test("what was written a moment ago is read again, even if nothing tells it from what was there", async (t) => {
  let now = 0;
  const agent = new Rest(place(t), () => now);
  assert.equal(await looks(agent), true);
  for (now = 1000; now < 10_000; now += 1000) assert.equal(await looks(agent), true, `after ${now} ms`);
  assert.deepEqual([await looks(agent), await looks(agent)], [true, false]);
});

test("files without the kubelet's link are read each time", async (t) => {
  const { secretDirectory, ...rest } = place(t);
  rmSync(join(secretDirectory, "..data"));
  const agent = agentOf({ secretDirectory, ...rest });
  assert.deepEqual([await looks(agent), await looks(agent), await looks(agent)], [true, true, true]);
});

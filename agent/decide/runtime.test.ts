/** Decisions in mode Runtime, and when the mode changes. */
import assert from "node:assert/strict";
import test from "node:test";
import type { Runtime } from "../delivery/runtime/plan.ts";
import {
  ago,
  before,
  brief,
  contents,
  contentWith,
  decide,
  entry,
  type FactsChange,
  fileWith,
  idle,
  journalOf,
  released,
} from "../facts/facts.fixture.ts";
import { type Content, firstJournal, type Resting } from "../journal/journal.ts";

const path = "/etc/containerd";
const runtime: Runtime = { path, directories: new Map() };
const mode = { config: { isRuntime: true, restart: "Never" }, runtime } as const;
const moved = (content: Content): Content => ({
  ...content,
  entries: content.entries.map((each) => ({ ...each, place: "hosts" })),
});
const here: Resting = { ...idle, content: moved(idle.content), hosts: path };
/** The files as the agent writes them for this journal. */
function written(journal: Resting): Runtime {
  const step = decide({ ...mode, journal });
  assert.equal(step.action, "hosts");
  return {
    path,
    directories: new Map(
      step.action === "hosts"
        ? step.hosts.flatMap(({ directory, file }) =>
            "bytes" in file ? [[directory, { kind: "file", identity: "1", ...file }]] : [],
          )
        : [],
    ),
  };
}
const full = written(here);
const none = { absent: true } as const;

test("records a new content, writes hosts.toml, and then reports it as proved", () => {
  const first = decide({ ...mode, file: fileWith(none) });
  assert.equal(brief(first), "record GPS226");
  const journal = journalOf(first) as Resting;
  assert.deepEqual(
    journal.content.entries.map(({ place }) => place),
    ["hosts"],
  );
  assert.equal(brief(decide({ ...mode, journal })), "hosts GPS226");
  assert.equal(
    brief(decide({ ...mode, journal, runtime: written(journal) })),
    "nothing GPS200 Proved",
  );
});

test("writes hosts.toml before it takes the entry out of config.json, and proves it once the kubelet has read that", () => {
  const step = decide({ ...mode, journal: { ...before, hosts: path } });
  assert.ok(step.action === "commit" && step.hosts?.length === 1);
  const journal = step.commit.journal as Resting;
  assert.notDeepEqual(journal.written, before.written);
  assert.equal(brief(decide({ ...mode, journal, runtime: full })), "wait GPS254");
  const later = { ...journal, written: ago(310_000) };
  assert.equal(brief(decide({ ...mode, journal: later, runtime: full })), "record GPS200");
});

test("after a change of the mode, moves nothing until the node is asked", () => {
  assert.equal(brief(decide({ ...mode, journal: before, order: "none" })), "nothing GPS200 Proved");
});

test("back in another mode, restores config.json first, and empties hosts.toml once the kubelet has read it", () => {
  const back = { runtime: full, config: { restart: "Never" } } as const;
  const step = decide({ ...back, journal: here });
  assert.ok(step.action === "commit" && step.hosts === undefined);
  const journal = step.commit.journal as Resting;
  assert.equal(brief(decide({ ...back, journal })), "wait GPS254");
  const later = { ...journal, written: ago(310_000) };
  const emptied = decide({ ...back, journal: later });
  assert.ok(emptied.action === "hosts");
  assert.deepEqual(
    emptied.hosts.map(({ file }) => file),
    [none],
  );
});

const rows: readonly (readonly [what: string, change: FactsChange, expected: string])[] = [
  ["refuses a node whose containerd does not use the files", {}, "wait GPS236 Refused"],
  ["reports such a node that has the content", { journal: idle }, "wait GPS236 Refused"],
  ["restores config.json on such a node", { journal: here }, "commit GPS226"],
];
for (const [what, change, expected] of rows)
  test(what, () => {
    const unfit = { ...runtime, unfit: "config_path is not set" };
    const step = decide({ ...mode, ...change, runtime: unfit });
    assert.equal(brief(step), expected);
  });

test("removes from hosts.toml what leaves, without an order, also while config.json cannot be replaced", () => {
  const newest = { ...contentWith(8, entry("b.io", "p")), isRelease: false };
  const leaving = { journal: here, runtime: full, contents: { ...contents, newest } };
  const learned = decide({ ...mode, ...leaving, order: "none" });
  assert.equal(brief(learned), "record GPS268");
  for (const file of [{ kind: "refused", why: "it is a directory" }, { kind: "changing" }] as const)
    assert.equal(brief(decide({ ...mode, ...leaving, file })), "hosts GPS226");
});

test("withdraws hosts.toml in every mode, also without a journal", () => {
  for (const config of [mode.config, {}] as const) {
    const gone = { config, contents: released, runtime: full, order: "none" } as const;
    assert.equal(brief(decide({ ...gone, file: fileWith(none) })), "hosts GPS226");
    const journal = firstJournal(none);
    assert.equal(brief(decide({ ...gone, journal })), "hosts GPS226");
    const clean = { ...gone, runtime };
    assert.equal(brief(decide({ ...clean, journal })), "leave GPS224");
    const refused = { kind: "refused", why: "it has 2 hard links", hasOurs: true } as const;
    const stuck = { path, directories: new Map([["a.io", refused]]) };
    for (const blocked of [stuck, { ...runtime, unseen: "EIO" }])
      for (const recorded of [{ journal }, { file: fileWith(none) }])
        assert.equal(brief(decide({ ...clean, ...recorded, runtime: blocked })), "wait GPS206");
  }
});

test("names the entries that stay in config.json", () => {
  const refused = { kind: "refused", why: "it has 2 hard links", hasOurs: false } as const;
  const stuck = { path, directories: new Map([["a.io", refused]]) };
  const { detail } = decide({ ...mode, journal: idle, runtime: stuck });
  assert.equal(detail, 'stay in config.json: "a.io" (it has 2 hard links)');
});

test("recognises its lines without a journal", () => {
  const step = decide({ ...mode, runtime: full, file: fileWith(none), order: "none" });
  assert.equal(brief(step), "record GPS270");
  assert.deepEqual(
    journalOf(step).content.entries.map(({ key, place }) => `${key} ${place}`),
    ["a.io hosts"],
  );
});

test("restores its lines as rarely as it writes config.json, but removes what leaves at once", () => {
  const busy = { ...mode, journal: here, writeIn: 900 } as const;
  assert.equal(brief(decide(busy)), "wait GPS225");
  assert.equal(brief(decide({ ...busy, writeIn: 0 })), "hosts GPS226");
  const gone = { contents: released, runtime: full, file: fileWith(none), writeIn: 900 } as const;
  const step = decide({ ...gone, config: mode.config, journal: firstJournal(none) });
  assert.equal(brief(step), "hosts GPS226");
});

test("records at once that the file was removed with the entry that ours hides, also if ours is elsewhere", () => {
  const hidden = { bytes: Buffer.from('{"auths":{"a.io":{"auth":"dTp0ZWFt"}}}'), mode: 0o600 };
  const removed = { ...mode, runtime: full, file: fileWith(none), writeIn: 900 } as const;
  const step = decide({ ...removed, journal: { ...here, theirs: hidden } });
  assert.equal(brief(step), "record GPS268");
  assert.deepEqual(journalOf(step).theirs, none);
});

test("names containerd's directory in the journal before a commit writes there, and until nothing is left", () => {
  const unnamed = { ...before, hosts: "" };
  const step = decide({ ...mode, journal: unnamed });
  const named = journalOf(step);
  assert.deepEqual([brief(step), named], ["record GPS226", { ...before, hosts: path }]);
  assert.equal(brief(decide({ ...mode, journal: named })), "commit GPS226");
  const back = { config: { restart: "Never" }, journal: { ...idle, hosts: path } } as const;
  assert.equal(brief(decide({ ...back, runtime: full })), "hosts GPS226");
  const clean = decide({ ...back, runtime });
  assert.deepEqual([brief(clean), journalOf(clean)], ["record GPS200", idle]);
});

test("without the directory that the journal names, reports neither Proved nor Removed", () => {
  const lost = { path, directories: new Map(), unfit: "not mounted", unseen: "not mounted" };
  for (const config of [mode.config, { restart: "Never" }] as const) {
    const journal = { ...idle, hosts: path };
    assert.equal(brief(decide({ config, runtime: lost, journal })), "wait GPS236 Refused");
    const gone = { config, runtime: lost, contents: released, order: "none" } as const;
    assert.equal(
      brief(decide({ ...gone, journal: { ...firstJournal(none), hosts: path } })),
      "wait GPS206",
    );
  }
});

/** The first node that registers a provider, until its kubelet has asked: as a table. */
import assert from "node:assert/strict";
import test from "node:test";
import {
  idle,
  type FactsChange,
  check,
  decide,
  facts,
  mounted,
  time,
  unit,
  written,
} from "../facts/facts.fixture.ts";

const file = { ...written, registers: "registered" as const, asked: false };
const shown: FactsChange = { file, journal: { ...idle, registered: time } };
const told: FactsChange = {
  ...shown,
  grant: { revision: 7, digest: "seven's", since: "2026-11-26T18:25:07Z", word: true },
};
const after = (seconds: number): FactsChange => ({
  ...told,
  time: { ...time, monotonic: time.monotonic + seconds * 1000 },
});

test("the first node whose kubelet was told of its provider is Ready when that has asked, or ten minutes later", () => {
  check([
    ["at once", told, "wait GPS255"],
    ["a moment too early", after(599.9), "wait GPS255"],
    ["ten minutes later", after(600), "nothing GPS200 ready"],
    ["it has asked", { ...told, file: { ...file, asked: true } }, "nothing GPS200 ready"],
    ["another node has shown it", shown, "nothing GPS200 ready"],
    ["it was told by an earlier agent", { ...told, journal: idle }, "nothing GPS200 ready"],
    [
      "the node was booted since",
      { ...told, time: { ...time, boot: "c" } },
      "nothing GPS200 ready",
    ],
    ["a provider that was prepared", { ...told, file: written }, "nothing GPS200 ready"],
    ["its healthz is silent", { ...told, healthy: false }, "wait GPS221"],
  ]);
  assert.equal(decide(facts(after(59))).detail, "waits 10 min at most");
});

test("the journal says since when the flags are in place, keeps it over a rotation, and drops it with them", () => {
  const flags = { ...idle.owned, flags: true as const };
  const put = (
    owned: typeof flags | typeof idle.owned,
    registers: "registered" | "to be registered",
  ) => {
    const plan = () => ({
      ...written.plan(idle, mounted, false),
      changed: true,
      kept: true as const,
      tells: registers === "to be registered",
      owned,
    });
    const known = { ...idle, registered: { boot: "b", monotonic: 1 } };
    const start = { environmentFiles: ["/var/lib/kubelet/kubeadm-flags.env"], command: "kubelet" };
    const step = decide(facts({ file: { ...file, registers, plan }, journal: known, unit, start }));
    assert.ok(step.action === "apply");
    return step.journal.registered;
  };
  assert.deepEqual(put(flags, "to be registered"), time);
  assert.deepEqual(put(flags, "registered"), { boot: "b", monotonic: 1 });
  assert.equal(put(idle.owned, "registered"), undefined);
});

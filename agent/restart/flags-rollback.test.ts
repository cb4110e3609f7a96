/** A kubelet that keeps failing while it has flags of ours, as a table. */
import assert from "node:assert/strict";
import test from "node:test";
import {
  idle,
  type FactsChange,
  check,
  crashed,
  decide,
  facts,
  key,
  limited,
  mounted,
  noBus,
  stopped,
  ungranted,
  unit,
  withdrawn,
  written,
} from "../facts/facts.fixture.ts";

const owned = { ...idle.owned, flags: true as const };
const file = { ...written, registers: "registered" as const };
const fails = { ...crashed, restarts: 3 };
const at: FactsChange = {
  file,
  journal: { ...idle, owned },
  mounted: { ...mounted, desired: mounted.desired },
  healthy: false,
  unit: fails,
  stopwatch: { silent: 60_000 },
};
const plan = () => ({ ...written.plan(idle, mounted, false), owned, meanwhile: owned });
const rests: FactsChange = { ...at, file: { ...file, plan } };

test("H18: a kubelet that keeps failing at rest loses the flags that we gave it, and nothing else is a reason", () => {
  check([
    ["it fails for a minute", rests, "record GPS216 → restoring"],
    ["its start limit is hit", { ...rests, unit: limited }, "record GPS216 → restoring"],
    ["not for a minute yet", { ...rests, stopwatch: { silent: 59_999 } }, "wait GPS221"],
    ["it was started anew but twice", { ...rests, unit: { ...fails, restarts: 2 } }, "wait GPS221"],
    ["somebody stopped it", { ...rests, unit: stopped }, "wait GPS221"],
    ["it runs, and is silent", { ...rests, unit }, "wait GPS221"],
    ["nobody can tell", { ...rests, unit: noBus }, "wait GPS221"],
    ["no restarts are allowed", { ...rests, config: { restart: "Never" } }, "wait GPS221"],
    ["its flags are not ours", { ...rests, journal: idle, file: written }, "wait GPS221"],
    ["it answers", { ...rests, healthy: true }, "nothing GPS200 ready"],
    ["its grant was taken back", { ...rests, ...ungranted }, "record GPS216 → restoring"],
  ]);
});

test("what is then restored has all but the flags, and counts as nothing that was proved", () => {
  const step = decide(facts(rests));
  assert.ok(step.action === "record");
  const { undo } = step.journal;
  assert.equal(undo?.content, "");
  assert.equal(undo.owned.flags, undefined);
  assert.deepEqual(undo.owned.entries, owned.entries);
  assert.deepEqual(undo.file, file.now);
});

test("the failure is the grant's under which it is in force", () => {
  const begun = (change: FactsChange) => {
    const step = decide(facts(change));
    return step.action === "record" ? step.journal : assert.fail(step.action);
  };
  assert.equal(begun(rests).grant, key);
  const older = { ...rests, journal: { ...idle, owned, digest: "six's" } };
  assert.equal(begun({ ...older, ...ungranted }).grant, undefined);
});

test("H18: neither a new revision nor a withdrawal waits for a kubelet that our flags keep from starting", () => {
  const changes = { changed: true, kept: true, matters: true } as const;
  const another = { ...rests, file: { ...file, plan: () => ({ ...plan(), ...changes }) } };
  const mountedNext = { ...mounted, content: "another" };
  check([
    ["drift", another, "record GPS216 → restoring"],
    ["a new content", { ...another, mounted: mountedNext }, "record GPS216 → restoring"],
    [
      "a withdrawal",
      { ...another, mounted: { ...withdrawn, revision: 7, digest: mounted.digest } },
      "record GPS216 → restoring",
    ],
    ["somebody stopped it", { ...another, mounted: mountedNext, unit: stopped }, "wait GPS230"],
  ]);
});

test("flags that are put back after somebody dropped them can be rolled back as well", () => {
  const changes = { changed: true, kept: true, matters: true, tells: true } as const;
  const changed = () => ({ ...plan(), ...changes });
  const start = { environmentFiles: ["/var/lib/kubelet/kubeadm-flags.env"], command: "kubelet" };
  const dropped = { ...file, registers: "to be registered" as const, plan: changed };
  const step = decide(facts({ ...rests, file: dropped, healthy: true, unit, start }));
  assert.ok(step.action === "apply");
  assert.ok(step.journal.undo);
  assert.equal(step.journal.undo.owned.flags, undefined);
});

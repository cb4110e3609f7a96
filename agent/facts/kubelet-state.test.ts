import assert from "node:assert/strict";
import test from "node:test";
import { namedUnit, withUnit } from "./kubelet-state.ts";
import { idle, restarting, reviving, settling, unit } from "./facts.fixture.ts";

test("restarts the unit with which the change began, unless a flag names a unit", () => {
  const reading = { kind: "journal", journal: { ...restarting, unit: "k3s.service" } } as const;
  assert.equal(namedUnit("auto", reading), "k3s.service");
  assert.equal(namedUnit("kubelet.service", reading), "kubelet.service");
  assert.equal(
    namedUnit("auto", { kind: "newer", why: "version 9", owes: true, unit: "k3s.service" }),
    "k3s.service",
  );
  assert.equal(namedUnit("auto", { kind: "none" }), undefined);
});

test("transfers the due restart to another unit if a flag names that unit in the middle of a change", () => {
  const other = { ...unit, name: "k3s.service", invocation: "k3s's" };
  assert.equal(withUnit(idle, other), idle);
  assert.equal(withUnit(restarting, unit), restarting);
  assert.equal(withUnit(restarting, { ...other, load: "not-found" }), restarting);
  assert.equal(withUnit(restarting, { unknown: "no answer" }), restarting);
  const { unit: _unit, ...nameless } = restarting;
  assert.deepEqual(withUnit(nameless, other), { ...restarting, unit: "k3s.service" });
  for (const [journal, phase] of [
    [restarting, "restarting"],
    [settling, "restarting"],
    [reviving, "reviving"],
  ] as const) {
    const next = withUnit({ ...journal, unit: "kubelet.service", tried: 3 }, other);
    assert.deepEqual(
      [next.phase, next.owed, next.unit, next.tried, next.settling],
      [phase, "k3s's", "k3s.service", 0, undefined],
    );
  }
  const applying = withUnit({ ...restarting, phase: "applying", matters: false }, other);
  assert.deepEqual([applying.owed, applying.matters], [undefined, true]);
});

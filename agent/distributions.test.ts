import assert from "node:assert/strict";
import test from "node:test";
import { found, kubeletUnits, owing, policyFor, rebound } from "./distributions.ts";
import { atRest, restarting, reviving, settling, unit } from "./facts.fixture.ts";

/** Every unit that may be the kubelet's as systemd tells it; those not named are not there. */
function states(active: Readonly<Record<string, string>>) {
  return kubeletUnits.map((name) => ({
    name,
    load: name in active ? "loaded" : "not-found",
    active: active[name] ?? "inactive",
  }));
}

test("the one active unit is the kubelet's, whatever else was left over", () => {
  for (const name of kubeletUnits) assert.deepEqual(found(states({ [name]: "active" })), { name });
  const leftOver = { "k3s-agent.service": "active", "kubelet.service": "inactive" };
  assert.deepEqual(found(states(leftOver)), { name: "k3s-agent.service" });
  const looping = { "rke2-server.service": "active", "kubelet.service": "activating" };
  assert.deepEqual(found(states(looping)), { name: "rke2-server.service" });
});

test("several active units or none are told by name", () => {
  assert.deepEqual(found(states({ "kubelet.service": "active", "k3s.service": "active" })), {
    unfound: "kubelet.service and k3s.service are active",
    several: true,
  });
  assert.deepEqual(found(states({ "kubelet.service": "failed", "k3s.service": "activating" })), {
    unfound: "kubelet.service is failed, k3s.service is activating",
    several: false,
  });
  assert.match(JSON.stringify(found(states({}))), /none of kubelet\.service, .*kubelite\.service is there/);
});

test("a unit that carries a control plane is restarted only where a flag allows it", () => {
  const standard = { restart: "Always", restartControlPlane: "Never" } as const;
  const carrying = kubeletUnits.filter((name) => policyFor(standard, name) === "Never");
  assert.deepEqual(carrying, [
    "k3s.service",
    "rke2-server.service",
    "k0scontroller.service",
    "snap.microk8s.daemon-kubelite.service",
  ]);
  for (const name of [...kubeletUnits, "other.service", undefined]) {
    assert.equal(policyFor({ restart: "Always", restartControlPlane: "Always" }, name), "Always");
    assert.equal(policyFor({ restart: "Never", restartControlPlane: "Always" }, name), "Never");
  }
});

test("a change under way owes its restart to the unit that it began with, unless a flag names one", () => {
  const reading = { kind: "journal", journal: { ...restarting, unit: "k3s.service" } } as const;
  assert.equal(owing("auto", reading), "k3s.service");
  assert.equal(owing("kubelet.service", reading), "kubelet.service");
  assert.equal(owing("auto", { kind: "newer", why: "version 9", owes: true, unit: "k3s.service" }), "k3s.service");
  assert.equal(owing("auto", { kind: "none" }), undefined);
});

test("a flag that names another unit in the middle of a change makes that one owe the restart", () => {
  const other = { ...unit, name: "k3s.service", invocation: "k3s's" };
  assert.equal(rebound(atRest, other), atRest);
  assert.equal(rebound(restarting, unit), restarting);
  assert.equal(rebound(restarting, { ...other, load: "not-found" }), restarting);
  assert.equal(rebound(restarting, { unknown: "no bus" }), restarting);
  const { unit: _unit, ...nameless } = restarting;
  assert.deepEqual(rebound(nameless, other), { ...restarting, unit: "k3s.service" });
  for (const [journal, phase] of [
    [restarting, "restarting"],
    [settling, "restarting"],
    [reviving, "reviving"],
  ] as const) {
    const next = rebound({ ...journal, unit: "kubelet.service", tried: 3 }, other);
    assert.deepEqual(
      [next.phase, next.owed, next.unit, next.tried, next.settling],
      [phase, "k3s's", "k3s.service", 0, undefined],
    );
  }
  const applying = rebound({ ...restarting, phase: "applying", matters: false }, other);
  assert.deepEqual([applying.owed, applying.matters], [undefined, true]);
});

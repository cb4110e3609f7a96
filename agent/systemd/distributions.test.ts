import assert from "node:assert/strict";
import test from "node:test";
import { activeUnit, kubeletUnits, policyFor } from "./distributions.ts";

/**
 * All units that can be the kubelet's, as systemd reports them. Units that are not listed do not
 * exist.
 */
function states(active: Readonly<Record<string, string>>) {
  return kubeletUnits.map((name) => ({
    name,
    load: name in active ? "loaded" : "not-found",
    active: active[name] ?? "inactive",
  }));
}

test("chooses the only active unit, whatever inactive units are left over", () => {
  for (const name of kubeletUnits)
    for (const active of ["active", "reloading"])
      assert.deepEqual(activeUnit(states({ [name]: active })), { name });
  const leftOver = { "k3s-agent.service": "active", "kubelet.service": "inactive" };
  assert.deepEqual(activeUnit(states(leftOver)), { name: "k3s-agent.service" });
  const looping = { "rke2-server.service": "active", "kubelet.service": "activating" };
  assert.deepEqual(activeUnit(states(looping)), { name: "rke2-server.service" });
});

test("names the units in the reason if no unit or several units are active", () => {
  assert.deepEqual(activeUnit(states({ "kubelet.service": "active", "k3s.service": "active" })), {
    unfound: "kubelet.service and k3s.service are active",
  });
  assert.deepEqual(
    activeUnit(states({ "kubelet.service": "failed", "k3s.service": "activating" })),
    {
      unfound: "kubelet.service is failed, k3s.service is activating",
    },
  );
  assert.match(
    JSON.stringify(activeUnit(states({}))),
    /none of kubelet\.service, .*\.service exists/,
  );
});

test("restarts a unit that carries more than a kubelet only if a flag allows it", () => {
  const standard = { restart: "Always", restartControlPlane: "Never" } as const;
  const carrying = kubeletUnits.filter((name) => policyFor(standard, name) === "Never");
  assert.deepEqual(carrying, [
    "k3s.service",
    "k3s-agent.service",
    "rke2-server.service",
    "rke2-agent.service",
    "k0scontroller.service",
    "k0sworker.service",
    "snap.microk8s.daemon-kubelite.service",
  ]);
  for (const name of [...kubeletUnits, "other.service", undefined]) {
    assert.equal(policyFor({ restart: "Always", restartControlPlane: "Always" }, name), "Always");
    assert.equal(policyFor({ restart: "Never", restartControlPlane: "Always" }, name), "Never");
  }
});

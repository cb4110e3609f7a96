/**
 * GlobalPullSecret on a real API server: which specs it refuses, its defaults, its columns, and who
 * is allowed to read it.
 */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fieldManager } from "#kube/client/ownership.ts";
import { until } from "../cluster/await.ts";
import { may } from "../cluster/rights.ts";
import * as plane from "./plane.ts";
import { wrongSpecs } from "./wrong-objects.ts";

let on: plane.Plane;

before(async () => {
  on = await plane.startPlane();
  await on.cluster.kubectl("delete", "gps", "cluster", "--ignore-not-found");
});
after(() => on[Symbol.asyncDispose]());

const objectOf = (spec: object, name = "cluster") => ({
  apiVersion: "globalpullsecret.io/v1alpha1",
  kind: "GlobalPullSecret",
  metadata: { name },
  spec,
});

test("refuses every wrong spec that kubectl sends, with the reason", async () => {
  assert.ok(wrongSpecs.length >= 40);
  const surprises: string[] = [];
  for (const [spec, words] of wrongSpecs) {
    const answer = await on.cluster.apply(objectOf(spec)).then(() => "accepted", String);
    if (!new RegExp(words).test(answer)) surprises.push(`${JSON.stringify(spec)}: ${answer}`);
  }
  assert.deepEqual(surprises, []);
  assert.equal(await on.cluster.get("gps", "cluster"), undefined);
});

test("allows only one object, named cluster", async () => {
  await assert.rejects(
    on.cluster.apply(objectOf({}, "second")),
    /there can only be one GlobalPullSecret/,
  );
});

test("fills in every default of an empty spec, and returns the object under its short name gps", async () => {
  await on.cluster.apply(objectOf({}));
  const object = await on.cluster.get<{ spec: object; status: object }>("gps", "cluster");
  assert.deepEqual(object?.spec, {
    managementState: "Managed",
    conflictPolicy: "PreferAdditional",
    protectedRegistries: [],
    sources: [],
    delivery: { mode: "Restart" },
    rollout: { maxUnavailable: "10%", maxFailures: 0, probation: "5s", minInterval: "0s" },
    withdrawal: { onDelete: "Withdraw", grace: "30s", deadline: "10m", forgetAfter: "24h" },
    verification: { mode: "Warn", images: [], interval: "1h" },
  });
  assert.deepEqual(object?.status, { observedGeneration: -1 });
});

/** Applies the spec as GitOps tools do: server-side. Fields that no client owns are not removed. */
const applied = async (delivery: object | undefined, manager = "kubectl") => {
  const file = join(on.cluster.directory, "delivery.json");
  writeFileSync(file, JSON.stringify(objectOf({ delivery })));
  const as = ["--server-side", "--force-conflicts", `--field-manager=${manager}`];
  await on.cluster.kubectl("apply", ...as, "-f", file);
  const object = await on.cluster.get<{ spec: { delivery: object } }>("gps", "cluster");
  return object?.spec.delivery;
};

test("fills in a provider's defaults, and removes these defaults when another mode is applied", async () => {
  const mode = "CredentialProvider";
  const chosen = await applied({ mode, credentialProvider: { scope: "Annotated" } });
  assert.deepEqual(chosen, { mode, credentialProvider: { scope: "Annotated" } });
  assert.deepEqual(await applied({ mode }), { mode });
  const filled = await applied({ mode, credentialProvider: {} });
  assert.deepEqual(filled, { mode, credentialProvider: { scope: "All" } });
  assert.deepEqual(await applied({ mode: "Restart" }), { mode: "Restart" });
  await applied({ mode, credentialProvider: {} });
  assert.deepEqual(await applied({}), { mode: "Restart" });
});

test("lets any client change a delivery that the controller has written", async () => {
  const mode = "CredentialProvider";
  const scoped = { mode, credentialProvider: { scope: "Annotated" } };
  for (const other of [{ mode: "Reread" }, { mode }]) {
    assert.deepEqual(await applied(scoped, fieldManager), scoped);
    assert.deepEqual(await applied(other), other);
  }
});

test("prints READY, REVISION, NODES and AGE in kubectl get", async () => {
  await on.cluster.apply(objectOf({}));
  const counts = { desired: 100, updated: 98, available: 97, unfit: 1, unreachable: 1, failed: 1 };
  const ready = { type: "Ready", status: "True", reason: "InForce", message: "" };
  const status = {
    revision: { inForce: 7 },
    nodes: { summary: "97/100", ...counts },
    conditions: [{ ...ready, lastTransitionTime: "2026-01-01T00:00:00Z" }],
  };
  const patch = ["--subresource=status", "--type=merge", "-p", JSON.stringify({ status })];
  await on.cluster.kubectl("patch", "gps", "cluster", ...patch);
  const [head = "", row = ""] = (await on.cluster.kubectl("get", "gps")).split("\n");
  assert.deepEqual(head.trim().split(/\s+/), ["NAME", "READY", "REVISION", "NODES", "AGE"]);
  assert.deepEqual(row.split(/\s+/).slice(0, 4), ["cluster", "True", "7", "97/100"]);
});

test("lets the role `view` read the object but no Secret, and lets none of the roles `view`, `edit` and `admin` write the object", async () => {
  for (const role of ["view", "edit", "admin"]) {
    const to = [`--clusterrole=${role}`, `--user=${role}`];
    await on.cluster.kubectl("create", "clusterrolebinding", `test-${role}`, ...to);
  }
  await on.cluster.apply(objectOf({}));
  await until("view has the viewer's rights", () =>
    may(on.cluster, "view", "get", "globalpullsecrets.globalpullsecret.io/cluster"),
  );
  await on.cluster.kubectl("get", "gps", "cluster", "--as=view");
  const secrets = on.cluster.kubectl("get", "secrets", "-n", "kube-system", "--as=view");
  await assert.rejects(secrets, /cannot list resource "secrets"/);
  const paused = JSON.stringify({ spec: { managementState: "Paused" } });
  for (const role of ["view", "edit", "admin"]) {
    const patch = ["patch", "gps", "cluster", "--type=merge", "-p", paused, `--as=${role}`];
    await assert.rejects(on.cluster.kubectl(...patch), /cannot patch resource/);
    await assert.rejects(
      on.cluster.kubectl("delete", "gps", "cluster", `--as=${role}`),
      /cannot delete resource/,
    );
  }
});

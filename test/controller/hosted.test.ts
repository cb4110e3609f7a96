/**
 * The original is in another cluster. The API server there is away for a time, or refuses the
 * controller's credential.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { SourceStatus } from "#api/global-pull-secret.ts";
import { until } from "../cluster/await.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import * as plane from "./plane.ts";
import { document, pullSecret } from "./plane.ts";
import { condition, statusOf } from "./steer.ts";

let on: plane.Plane;
let other: Cluster;
/** The controller's token for the other cluster. */
let token: string;

before(async () => {
  [on, other] = await Promise.all([plane.startPlane(), startCluster({ nodes: 0 })]);
  const rules = [
    {
      apiGroups: [""],
      resources: ["secrets"],
      resourceNames: ["pull-secret"],
      verbs: ["get", "list", "watch"],
    },
  ];
  const rbac = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    metadata: { name: "reader", namespace: "default" },
  };
  await other.apply(
    {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: "reader", namespace: "default" },
    },
    { ...rbac, kind: "Role", rules },
    {
      ...rbac,
      kind: "RoleBinding",
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "reader" },
      subjects: [{ kind: "ServiceAccount", name: "reader", namespace: "default" }],
    },
  );
  token = (
    await other.kubectl("create", "token", "reader", "-n", "default", "--duration=4h")
  ).trim();
});
after(async () => {
  other?.down();
  await on?.[Symbol.asyncDispose]();
});

const start = (credential = token) => {
  const file = plane.writeKubeconfig(other, "original", other.server, credential);
  return plane.startController(
    on.kubeconfig,
    "--original",
    "default/pull-secret",
    "--original-kubeconfig",
    file,
  );
};

async function rotate(word: string): Promise<void> {
  const secret = pullSecret("pull-secret", document({ "o.example": `orig:${word}` }));
  await other.apply({ ...secret, metadata: { name: "pull-secret", namespace: "default" } });
}

const merged = (additional: string, original: string) =>
  document({ "a.example": `add:${additional}`, "o.example": `orig:${original}` });
const declare = (word: string) => plane.declare(on, document({ "a.example": `add:${word}` }));

const original = async () => (await statusOf(on)).sources?.find(({ name }) => name === "original");

const untilOriginalIs = (accepted: SourceStatus["accepted"]) =>
  until(
    `the original is accepted: ${accepted}`,
    async () => (await original())?.accepted === accepted,
    { timeout: 60_000, seen: original },
  );

test("H3, H8: delivers a rotation of the original, which is in another cluster", async () => {
  await using controller = start();
  await rotate("1");
  await declare("1");
  await plane.untilPublished(on, merged("1", "1"));
  await rotate("2");
  await plane.untilPublished(on, merged("1", "2"));
  await untilOriginalIs("True");
  await controller.stop();
});

test("delivers changes and a removal while the original's API server is away, and the original's rotation afterwards", async () => {
  await using controller = start();
  await declare("2");
  await plane.untilPublished(on, merged("2", "2"));
  await other.stopApiServer();
  await untilOriginalIs("Unknown");
  const sinceWhen = async () => (await condition(on, "SourcesAccepted"))?.lastTransitionTime;
  const since = await sinceWhen();
  assert.match((await plane.untilEvent(on, "OriginalUnknown")).message, /GPS309/);
  await declare("3");
  const revision = await plane.untilPublished(on, merged("3", "2"));
  await until("status reports the new revision", async () =>
    Object.values((await statusOf(on)).revision ?? {}).includes(revision),
  );
  assert.equal(await sinceWhen(), since);

  // The next controller has never read the original.
  await controller.stop();
  await using next = start();
  await declare("4");
  await plane.untilPublished(on, merged("4", "2"));
  await plane.clear(on);
  await declare("5");
  await plane.untilPublished(on, document({ "a.example": "add:5" }));

  await other.startApiServer();
  await plane.untilPublished(on, merged("5", "2"), 120_000);
  await rotate("3");
  await plane.untilPublished(on, merged("5", "3"), 120_000);
  await untilOriginalIs("True");
  await next.stop();
});

test("continues while the original's API server refuses the credential, and reads the original once the kubeconfig is renewed", async () => {
  await using controller = start("not-a-token");
  await declare("6");
  await plane.untilPublished(on, merged("6", "3"));
  await untilOriginalIs("Unknown");
  plane.writeKubeconfig(other, "original", other.server, token);
  await rotate("4");
  await plane.untilPublished(on, merged("6", "4"), 120_000);
  await untilOriginalIs("True");
  assert.ok(!controller.output().includes(token));
  await plane.clear(on);
  await controller.stop();
});

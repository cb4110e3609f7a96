/** Checks which objects each side makes from a SyncSecret, and where. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { syncReasons, syncStalledReasons, type SyncReason } from "#api/sync-reasons.ts";
import type { SyncSecret } from "#api/sync-secret.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { Elsewhere, elsewhere, managementSide, tenantSide } from "./side.ts";
import { allSyncSecrets } from "#kube/client/paths.ts";
import { syncSecretsIn } from "./objects.ts";
import { statusOf as writtenStatus } from "./rules/status.ts";
import type { LiveCopy } from "#kube/apply/copy.ts";

const cluster = {} as unknown as Cluster;
const tenant = tenantSide({ home: cluster, management: cluster, namespace: "tenant-a" });
const management = managementSide(cluster, "tenant-a");

const objectOf = (namespace: string, more: Partial<SyncSecret> = {}): SyncSecret => ({
  apiVersion: "globalpullsecret.io/v1alpha1",
  kind: "SyncSecret",
  metadata: { name: "registry", namespace, uid: "77", labels: { tier: "gold" } },
  ...more,
});
const content = { type: "Opaque", data: { a: "eA==" } } as const;
const managedBy = { "app.kubernetes.io/managed-by": "global-pull-secret-sync" };

test("on the tenant's side, reads SyncSecrets of every namespace, and makes copies in one namespace", () => {
  assert.equal(tenant.objects, allSyncSecrets);
  assert.match(tenant.objects, /\/syncsecrets$/);
  assert.equal(tenant.results, syncSecretsIn("tenant-a"));
});

test("names the copy by the UID of the tenant's object, and does not copy the object's labels", () => {
  const { kind, metadata, data } = tenant.resultOf(objectOf("default"), content);
  assert.deepEqual([kind, metadata.name, metadata.namespace], ["SyncSecret", "77", "tenant-a"]);
  assert.equal(metadata.labels["tier"], undefined);
  assert.partialDeepStrictEqual(metadata.labels, managedBy);
  assert.deepEqual(data, content.data);
});

test("makes a Secret with the copy's data, the copy's UID as its name, and the copy as its owner", () => {
  const { kind, type, metadata, data } = management.resultOf(objectOf("tenant-a"), content);
  assert.deepEqual([kind, type, metadata.name], ["Secret", "Opaque", "77"]);
  assert.deepEqual(data, content.data);
  assert.partialDeepStrictEqual(metadata.labels, managedBy);
  assert.deepEqual(metadata.ownerReferences, [
    {
      apiVersion: "globalpullsecret.io/v1alpha1",
      kind: "SyncSecret",
      name: "registry",
      uid: "77",
      blockOwnerDeletion: true,
    },
  ]);
});

for (const [result, side] of [
  ["copy", tenant],
  ["Secret", management],
] as const)
  for (const immutable of [true, false, undefined])
    test(`makes a ${result} with the type, the data and the immutability of an object whose immutable is ${immutable}`, () => {
      const object = objectOf("tenant-a", immutable === undefined ? {} : { immutable });
      const declared = { type: "example.com/t", data: { a: "eA==", b: "eQ==" } } as const;
      const { type, data, immutable: isImmutable = false } = side.resultOf(object, declared);
      assert.deepEqual(
        { type, data, isImmutable },
        { ...declared, isImmutable: immutable === true },
      );
    });

test("makes an Opaque Secret from an object of type service-account-token, and records that type", () => {
  const type = "kubernetes.io/service-account-token";
  const secret = management.resultOf(objectOf("tenant-a"), { ...content, type });
  assert.equal(secret.type, "Opaque");
  assert.equal(secret.metadata.annotations["globalpullsecret.io/original-type"], type);
});

test("reports the name and the version of a Secret that is as wanted", () => {
  const live = { metadata: { name: "77", resourceVersion: "5" } } as unknown as LiveCopy;
  const { reason, secretName, resourceVersion } = management.describe(live);
  assert.deepEqual([reason, secretName, resourceVersion], ["Synced", "77", "5"]);
});

const statusOf = (reason: string, observedGeneration = 2) => ({
  observedGeneration,
  conditions: [{ type: "Ready", reason, message: "m" }],
});
const named = { secretName: "77", resourceVersion: "5" };
const message = "the management cluster has the copy, but no Secret yet";
const ofManagement = ["Invalid", "Foreign", "Refused", "Unreachable", "Denied"];
const copies: readonly (readonly [what: string, status: object | undefined, reported: object])[] = [
  ["has no status", undefined, { reason: "Waiting", message }],
  ["has no conditions", { observedGeneration: 2 }, { reason: "Waiting", message }],
  ["has an old status", statusOf("Synced", 1), { reason: "Waiting", message }],
  ["is in sync", { ...statusOf("Synced"), ...named }, { reason: "Synced", message: "m", ...named }],
  ...ofManagement.map(
    (reason) => [`is ${reason}`, statusOf(reason), { reason, message: "m" }] as const,
  ),
  // Only the tenant's side sets these reasons.
  ...["Leaving", "Copied", "constructor"].map(
    (reason) => [`has ${reason}`, statusOf(reason), { reason: "Waiting", message: "m" }] as const,
  ),
];
for (const [what, status, reported] of copies)
  test(`reports to the tenant what the management side states if the copy ${what}`, () => {
    const copy = { metadata: { generation: 2 }, status } as unknown as LiveCopy;
    assert.deepEqual(tenant.describe(copy), reported);
  });

const failures = [
  [0, "", "Unreachable"],
  [403, "Forbidden", "Refused"],
  [409, "Conflict", undefined],
  [422, "Invalid", "Refused"],
  [503, "ServiceUnavailable", "Unreachable"],
] as const;
for (const [status, reason, reported] of failures)
  test(`reports the answer ${status} of the other cluster as ${reported ?? "nothing, because it reads again"}`, async () => {
    const error = new ApiError({ status, reason, method: "PATCH", path: "/p" });
    const thrown: unknown = await elsewhere(Promise.reject(error)).catch(
      (caught: unknown) => caught,
    );
    assert.equal(thrown instanceof Elsewhere ? thrown.outcome.reason : undefined, reported);
    // The log names the request, and the object's status does not.
    assert.match(String(thrown), /PATCH \/p/);
    if (thrown instanceof Elsewhere) assert.doesNotMatch(thrown.outcome.message, /PATCH|\/p/);
    assert.equal(thrown === error, reported === undefined);
  });

for (const reason of Object.keys({ ...syncReasons, ...syncStalledReasons }) as SyncReason[])
  test(`reports ${reason} in both conditions, as the API describes it`, () => {
    const { conditions = [] } = writtenStatus({ reason, message: "m" }, 3, new Date(0));
    const isUnknown = ["Unreachable", "Denied"].includes(reason);
    assert.deepEqual(
      conditions.map((condition) => `${condition.type} ${condition.status} ${condition.reason}`),
      [
        `Ready ${isUnknown ? "Unknown" : reason === "Synced" ? "True" : "False"} ${reason}`,
        `Stalled ${reason in syncStalledReasons ? "True" : "False"} ${reason}`,
      ],
    );
  });

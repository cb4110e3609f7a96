import assert from "node:assert/strict";
import { test } from "node:test";
import type { SyncSecret } from "#api/sync-secret.ts";
import { originLabels } from "./origin.ts";
import {
  copyStep,
  desiredOf,
  liveCopy,
  type CopyStep,
  type Declared,
  type LiveCopy,
} from "#kube/apply/copy.ts";
import { copyOf, isSecretOf, secretOf, isCopy } from "./copies.ts";

const content = { type: "Opaque", data: { a: "eA==" } } as const;
const object: SyncSecret = {
  apiVersion: "globalpullsecret.io/v1alpha1",
  kind: "SyncSecret",
  metadata: { name: "0e9d", namespace: "tenant-a", uid: "77" },
  type: "Opaque",
};
const desired = secretOf(object, content);
const fixed: Declared = { ...desired, immutable: true };
const elsewhere: Declared = {
  ...desired,
  metadata: {
    ...desired.metadata,
    annotations: { ...desired.metadata.annotations, "globalpullsecret.io/origin-name": "x" },
  },
};
/** The object as the API server returns it. Its managedFields contain our name. */
const liveOf = ({ metadata, ...rest }: Declared, more: object = {}): LiveCopy =>
  liveCopy({
    ...rest,
    ...more,
    metadata: {
      ...metadata,
      managedFields: [{ manager: "global-pull-secret-sync", operation: "Update" }],
    },
  });
const without = (live: LiveCopy, ...fields: readonly string[]): LiveCopy => ({
  ...live,
  metadata: Object.fromEntries(
    Object.entries(live.metadata ?? {}).filter(([name]) => !fields.includes(name)),
  ),
});

const table: readonly (readonly [what: string, live: LiveCopy, of: Declared, step: CopyStep])[] = [
  ["without its labels", without(liveOf(desired), "labels"), desired, "update"],
  ["without its origin", without(liveOf(desired), "annotations"), desired, "update"],
  ["of another origin", liveOf(elsewhere), desired, "update"],
  ["without its owner", without(liveOf(desired), "ownerReferences"), desired, "update"],
  ["immutable, with another value", liveOf(fixed, { data: { a: "eQ==" } }), fixed, "recreate"],
  ["another client made it immutable", liveOf(desired, { immutable: true }), desired, "nothing"],
];

for (const [what, live, of, step] of table)
  test(`L16: ${what}: ${step}`, () => {
    const isOurs = isSecretOf(live?.metadata ?? {}, "77");
    assert.equal(copyStep(live, desiredOf(of), isOurs), step);
  });

const labelValue = (name: string) =>
  originLabels({ name, namespace: "default" })["globalpullsecret.io/origin-name"] ?? "";

test("treats an object that we did not create as foreign, even if its content is the same", () => {
  const theirs = without(liveOf(desired), "managedFields", "ownerReferences");
  assert.ok(!isSecretOf(theirs.metadata ?? {}, "77"));
  assert.equal(copyStep(theirs, desiredOf(desired), false), "foreign");
});

test("L6: shortens a name that is too long for a label to 54 characters and 8 digits of its hash", () => {
  assert.equal(labelValue("a".repeat(63)), "a".repeat(63));
  const [first, other] = [labelValue(`${"a".repeat(200)}b`), labelValue(`${"a".repeat(200)}c`)];
  assert.notEqual(first, other);
  for (const value of [first, other, labelValue(`${"a".repeat(53)}.${"b".repeat(100)}`)]) {
    assert.match(value, /^[a-z0-9][-a-z0-9.]{53}-[0-9a-f]{8}$/);
  }
});

test("uses the origin in a copy's annotations only if the name is valid", () => {
  const origin = (name: string, namespace: string) => {
    const annotations = {
      "globalpullsecret.io/origin-name": name,
      "globalpullsecret.io/origin-namespace": namespace,
    };
    const said = { ...object, metadata: { ...object.metadata, annotations } };
    const { annotations: shown, labels } = secretOf(said, content).metadata;
    return Object.keys(annotations).map((key) => `${shown[key]} ${labels[key]}`);
  };
  const marks = ["wildcard-tls wildcard-tls", "default default"];
  assert.deepEqual(origin("wildcard-tls", "default"), marks);
  const own = ["0e9d 0e9d", "tenant-a tenant-a"];
  for (const odd of ["a b", "A", "", "x".repeat(254), "a\nb"])
    assert.deepEqual([origin(odd, "default"), origin("wildcard-tls", odd)], [own, own]);
});

test("recognises a copy, but not an object with only some of a copy's marks", () => {
  const { labels, annotations } = copyOf(object, content, "tenant-a").metadata;
  assert.ok(isCopy({ labels, annotations }));
  assert.ok(!isCopy({}));
  assert.ok(!isCopy({ labels }));
  assert.ok(!isCopy({ annotations }));
});

test("L6, L23: names a copy by the UID of the tenant's object, places it in the tenant's namespace of the management cluster, and copies no other metadata", () => {
  const metadata = {
    ...object.metadata,
    namespace: "default",
    labels: { planted: "x" },
    annotations: { planted: "x", "kubernetes.io/service-account.name": "x" },
    finalizers: ["planted"],
  };
  const copy = copyOf({ ...object, metadata }, content, "tenant-a");
  assert.equal(copy.metadata.name, "77");
  assert.equal(copy.metadata.namespace, "tenant-a");
  assert.equal(copy.metadata.labels["globalpullsecret.io/origin-namespace"], "default");
  assert.ok(!JSON.stringify(copy).includes("planted"));
  assert.ok(!JSON.stringify(copy).includes("kubernetes.io/service-account"));
});

const ownedBy = (uid: string) => ({
  ownerReferences: [{ apiVersion: "v1", kind: "x", name: "x", uid }],
});
const writtenBy = (manager: string) => ({ managedFields: [{ manager }] });
for (const [what, metadata, isOurs] of [
  ["that its copy owns", ownedBy("77"), true],
  ["that we wrote, and that has lost its owner", writtenBy("global-pull-secret-sync"), true],
  ["of another owner", ownedBy("78"), false],
  ["of another client", writtenBy("kubectl"), false],
  ["without any owner or client", {}, false],
] as const)
  test(`${isOurs ? "takes" : "does not take"} a Secret ${what} as ours`, () =>
    assert.equal(isSecretOf(metadata, "77"), isOurs));

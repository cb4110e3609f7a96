import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import fc from "fast-check";
import type { KubernetesObject } from "@kubernetes/client-node";
import { copyStep } from "#kube/apply/copy.ts";
import { contentOf } from "../rules/content.ts";
import { resourceSet } from "./resource-set.ts";

const owner = "id/kube-system/one";
const content = contentOf("kubernetes.io/dockerconfigjson", {
  ".dockerconfigjson": "e30=",
  a: "eA==",
});
const target = { namespace: "kube-system", name: "pull-secret" };
const transport = resourceSet("guest-a", target);
const [secret, set] = transport.placed;

/** The object as we place it, with metadata that other clients added. */
function objectOf(placement: typeof secret, more: object = {}): KubernetesObject {
  const placed = placement?.desired(content, owner).body;
  return { ...placed, metadata: { ...placed?.metadata, ...more } };
}
const references = {
  ownerReferences: [{ apiVersion: "x/v1", kind: "ClusterResourceSet", name: "n", uid: "u" }],
};

const nameFor = (target: Parameters<typeof resourceSet>[1]) =>
  resourceSet("a", target).placed[0]?.target.name;

test("puts the target's manifest into the Secret, with the source's content and type", () => {
  const { type, data } = objectOf(secret) as { type?: string; data?: Record<string, string> };
  assert.equal(type, "addons.cluster.x-k8s.io/resource-set");
  const manifest = Buffer.from(data?.["manifests.yaml"] ?? "", "base64").toString();
  assert.partialDeepStrictEqual(JSON.parse(manifest), {
    apiVersion: "v1",
    kind: "Secret",
    metadata: target,
    type: content.type,
    data: content.data,
  });
});

test("selects the namespace's one Cluster or, with clusterNameLabelValue Name, every Cluster", () => {
  assert.partialDeepStrictEqual(objectOf(set), {
    apiVersion: "addons.cluster.x-k8s.io/v1beta2",
    spec: {
      clusterSelector: { matchLabels: { "cluster.x-k8s.io/cluster-name": "guest-a" } },
      resources: [{ kind: "Secret", name: "crs-pull-secret" }],
      strategy: "Reconcile",
    },
  });
  const [, byName] = resourceSet("guest-a", target, {
    clusterNameLabelValue: "Name",
  }).placed;
  assert.partialDeepStrictEqual(objectOf(byName), {
    spec: {
      clusterSelector: {
        matchExpressions: [{ key: "cluster.x-k8s.io/cluster-name", operator: "Exists" }],
      },
    },
  });
});

/** The step for an object that exists, if this content should be there. */
const stepOf = (placement: typeof secret, object: KubernetesObject, wanted = content): string =>
  placement === undefined
    ? assert.fail("not placed")
    : copyStep(placement.target.keep(object), placement.desired(wanted, owner), true);

test("ignores the order of keys, and ownerReferences that Cluster API adds", () => {
  const { data } = content;
  const reversed = Object.fromEntries(Object.entries(data).toReversed());
  const turned = contentOf(content.type, reversed);
  for (const placement of [secret, set]) {
    assert.equal(stepOf(placement, objectOf(placement, references)), "nothing");
    assert.equal(stepOf(placement, objectOf(placement), turned), "nothing");
    assert.equal(stepOf(placement, objectOf(placement, { annotations: {} })), "update");
  }
});

test("creates an edited ClusterResourceSet again, because its selector is immutable", () => {
  const { spec } = objectOf(set) as { spec?: object };
  for (const edit of [{ resources: [] }, { strategy: "ApplyOnce" }, { clusterSelector: {} }])
    assert.equal(
      stepOf(set, { ...objectOf(set), spec: { ...spec, ...edit } } as never),
      "recreate",
    );
  assert.equal(stepOf(set, { ...objectOf(set), spec: { ...spec, added: 1 } } as never), "nothing");
});

const said = (status: string, reason = "NotApplied") => ({
  status: { conditions: [{ type: "ResourcesApplied", status, reason }] },
});
for (const [what, status, is] of [
  ["nothing", {}, "awaited"],
  ["not applied", said("False"), "awaited"],
  ["applied", said("True"), "unasked"],
] as const)
  test(`Cluster API reports ${what}: ${is}`, () => {
    assert.equal(transport.proof([undefined, { ...objectOf(set), ...status }], undefined).is, is);
  });

test("law: never gives two targets the same ClusterResourceSet", () => {
  assert.equal(nameFor(target), "crs-pull-secret");
  const names = fc.stringMatching(/^[a-z.-]{1,6}$/);
  const spaces = fc.constantFrom("kube-system", "a", "b");
  const targets = fc.record({ namespace: spaces, name: names });
  fc.assert(
    fc.property(targets, targets, (first, other) => {
      const same = first.namespace === other.namespace && first.name === other.name;
      assert.equal(nameFor(first) === nameFor(other), same);
    }),
  );
});

test("K3: also selects Clusters by their labels", () => {
  const clusterSelector = {
    matchLabels: { tier: "gold" },
    matchExpressions: [{ key: "skip", operator: "DoesNotExist" }],
  } as const;
  const [, labelled] = resourceSet("guest-a", target, { clusterSelector }).placed;
  assert.partialDeepStrictEqual(objectOf(labelled), {
    spec: {
      clusterSelector: {
        matchLabels: { tier: "gold", "cluster.x-k8s.io/cluster-name": "guest-a" },
        matchExpressions: [{ key: "skip", operator: "DoesNotExist" }],
      },
    },
  });
});

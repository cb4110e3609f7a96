import assert from "node:assert/strict";
import { test } from "node:test";
import {
  clusterProfileVersion,
  execExtension,
  type AccessProvider,
  type ClusterProfile,
} from "#api/cluster-profile.ts";
import { credentialSourceOf } from "./cluster-profiles.ts";

const cluster = { server: "https://east.example:6443", "certificate-authority-data": "QQ==" };

const profile = (...accessProviders: readonly AccessProvider[]): ClusterProfile => ({
  apiVersion: clusterProfileVersion,
  kind: "ClusterProfile",
  metadata: { name: "east", namespace: "clusters" },
  spec: { clusterManager: { name: "globalpullsecret.io" } },
  status: { accessProviders },
});

const provider = (name: string, extension?: unknown): AccessProvider => ({
  name,
  cluster:
    extension === undefined
      ? cluster
      : { ...cluster, extensions: [{ name: execExtension, extension }] },
});
const token = { secret: "east", key: "token", holds: "token" };
const reader = "kubeconfig-secretreader";

const cases: readonly (readonly [what: string, given: ClusterProfile, expected: object])[] = [
  ["a token in the Secret with the profile's name", profile(provider("secretreader")), token],
  [
    "a token in the Secret that clusterName names",
    profile(provider("secretreader", { clusterName: "east" })),
    token,
  ],
  [
    "a token, with another clusterName than the profile's",
    profile(provider("secretreader", { clusterName: "admin" })),
    { problem: "provider" },
  ],
  [
    "a kubeconfig in the Secret that the profile names",
    profile(provider(reader, { name: "east-kubeconfig", key: "value", context: "admin" })),
    { secret: "east-kubeconfig", key: "value", holds: "kubeconfig", context: "admin" },
  ],
  [
    "a kubeconfig, with the profile's own namespace as a parameter",
    profile(provider(reader, { name: "k", key: "value", namespace: "clusters" })),
    { secret: "k", holds: "kubeconfig" },
  ],
  [
    "a kubeconfig, with another namespace as a parameter",
    profile(provider(reader, { name: "k", key: "value", namespace: "kube-system" })),
    { problem: "provider" },
  ],
  [
    "a kubeconfig, with a path as the Secret's name",
    profile(provider(reader, { name: "../../kube-system/secrets/k", key: "value" })),
    { problem: "provider" },
  ],
  [
    "a kubeconfig, with an invalid key of the Secret",
    profile(provider(reader, { name: "k", key: "a/b" })),
    { problem: "provider" },
  ],
  ["a reader without parameters", profile(provider(reader)), { problem: "provider" }],
  ["no provider at all", profile(), { problem: "noProvider" }],
  ["a provider that would run a program", profile(provider("gcp")), { problem: "noProvider" }],
  [
    "a provider with the name of a JavaScript property",
    profile(provider("constructor")),
    { problem: "noProvider" },
  ],
  ["an unknown and a known provider", profile(provider("gcp"), provider("secretreader")), token],
];

for (const [what, clusterProfile, expected] of cases)
  test(`${what}: ${JSON.stringify(expected)}`, () => {
    const { cluster: sourceCluster, ...source } = {
      cluster: undefined,
      ...credentialSourceOf(clusterProfile),
    };
    assert.partialDeepStrictEqual(source, expected);
    if ("secret" in source) assert.partialDeepStrictEqual(sourceCluster, cluster);
  });

test("also reads providers from the field with the former name, but prefers the field with the new name", () => {
  const former = (
    clusterProfile: ClusterProfile,
    ...credentialProviders: readonly AccessProvider[]
  ) => ({
    ...clusterProfile,
    status: { ...clusterProfile.status, credentialProviders },
  });
  const other = { name: "secretreader", cluster: { server: "https://other.example" } };
  assert.partialDeepStrictEqual(credentialSourceOf(former(profile(), other)), {
    cluster: other.cluster,
  });
  assert.partialDeepStrictEqual(
    credentialSourceOf(former(profile(provider("secretreader")), other)),
    {
      cluster,
    },
  );
});

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

const cases: readonly (readonly [what: string, given: ClusterProfile, expected: object])[] = [
  ["a token in the Secret with the profile's name", profile(provider("secretreader")), { cluster }],
  [
    "a token in the Secret that clusterName names",
    profile(provider("secretreader", { clusterName: "east" })),
    { cluster },
  ],
  [
    "a token, with another clusterName than the profile's",
    profile(provider("secretreader", { clusterName: "admin" })),
    { problem: "provider" },
  ],
  ["no provider at all", profile(), { problem: "noProvider" }],
  ["a provider that would run a program", profile(provider("gcp")), { problem: "noProvider" }],
  [
    "a provider with the name of a JavaScript property",
    profile(provider("constructor")),
    { problem: "noProvider" },
  ],
  [
    "an unknown and a known provider",
    profile(provider("gcp"), provider("secretreader")),
    { cluster },
  ],
];

for (const [what, clusterProfile, expected] of cases)
  test(`${what}: ${JSON.stringify(expected)}`, () => {
    assert.partialDeepStrictEqual(credentialSourceOf(clusterProfile), expected);
  });

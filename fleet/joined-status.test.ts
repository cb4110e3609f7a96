import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterProfileVersion, type ClusterProfile } from "#api/cluster-profile.ts";
import {
  contextAnnotation,
  serverAnnotation,
  serverNameAnnotation,
  systemRootsAnnotation,
  tokenKey,
} from "#contract/joined.ts";
import type { Age } from "#kube/token.ts";
import { isReported, statusOf, type FoundCluster, ageOf } from "./joined-status.ts";

const now = new Date("2026-11-23T09:00:00.500Z");
const profile: ClusterProfile = {
  apiVersion: clusterProfileVersion,
  kind: "ClusterProfile",
  metadata: { name: "east", annotations: { [contextAnnotation]: "admin@east" } },
  spec: { clusterManager: { name: "globalpullsecret.io" } },
};
const answers = { kind: "answers", version: "v1.36.3", ready: true, guarded: true } as const;
const away: FoundCluster = { kind: "away", why: "no answer" };

const cases: readonly (readonly [
  found: FoundCluster,
  age: Age,
  joined: string,
  healthy: string,
  guarded: string,
])[] = [
  [answers, "fresh", "True TokenAccepted", "True Ready", "True PoliciesInPlace"],
  [answers, "due", "True TokenAccepted", "True Ready", "True PoliciesInPlace"],
  [answers, "unknown", "True TokenAccepted", "True Ready", "True PoliciesInPlace"],
  [
    { ...answers, ready: false, guarded: undefined },
    "fresh",
    "True TokenAccepted",
    "False NotReady",
    "Unknown NotAsked",
  ],
  [
    { ...answers, guarded: false },
    "fresh",
    "True TokenAccepted",
    "True Ready",
    "False PoliciesMissing",
  ],
  [{ kind: "refused" }, "fresh", "False TokenRefused", "Unknown NotAsked", "Unknown NotAsked"],
  [{ kind: "refused" }, "expired", "False TokenExpired", "Unknown NotAsked", "Unknown NotAsked"],
  [
    { kind: "noAccess", why: "GPS448" },
    "unknown",
    "False NoCredential",
    "Unknown NotAsked",
    "Unknown NotAsked",
  ],
  [away, "fresh", "Unknown NotReached", "Unknown Unreachable", "Unknown NotAsked"],
  [away, "expired", "False TokenExpired", "Unknown Unreachable", "Unknown NotAsked"],
];
for (const [observation, age, joined, healthy, guarded] of cases)
  test(`M2: ${JSON.stringify(observation)} with a token that is ${age}: Joined ${joined}, healthy ${healthy}, guarded ${guarded}`, () => {
    const words = statusOf(profile, observation, age, now).conditions?.map(
      ({ status, reason }) => `${status} ${reason}`,
    );
    assert.deepEqual(words, [joined, healthy, guarded]);
  });

test("keeps the condition Joined, the version and the times in status while a cluster is unreachable", () => {
  const before = { ...profile, status: statusOf(profile, answers, "fresh", now) };
  const later = statusOf(before, away, "fresh", new Date("2026-11-24T09:00:00Z"));
  const [joined, healthy] = later.conditions ?? [];
  assert.equal(`${joined?.status} ${joined?.lastTransitionTime}`, "True 2026-11-23T09:00:00Z");
  assert.equal(`${healthy?.status} ${healthy?.lastTransitionTime}`, "Unknown 2026-11-24T09:00:00Z");
  assert.equal(later.version?.kubernetes, "v1.36.3");
});

test("shows the command to join again if the token was refused or has expired", () => {
  for (const [observation, age] of [
    [{ kind: "refused" }, "fresh"] as const,
    [away, "expired"] as const,
  ])
    assert.match(
      statusOf(profile, observation, age, now).conditions?.[0]?.message ?? "",
      /kubectl pull-secret fleet join east --context admin@east$/,
    );
});

test("in the command to join again, repeats the server flags of the former join", () => {
  const annotations = {
    ...profile.metadata.annotations,
    [serverAnnotation]: "https://east.example:6443",
    [serverNameAnnotation]: "kubernetes",
    [systemRootsAnnotation]: "true",
  };
  const joined = { ...profile, metadata: { ...profile.metadata, annotations } };
  assert.match(
    statusOf(joined, away, "expired", now).conditions?.[0]?.message ?? "",
    /--context admin@east --server https:\/\/east\.example:6443 --tls-server-name kubernetes --system-roots$/,
  );
});

test("writes the status again only if a condition or the version has changed", () => {
  const status = statusOf(profile, answers, "fresh", now);
  const later = new Date("2026-11-24T09:00:00Z");
  const before = { ...profile, status };
  assert.ok(isReported(before.status, statusOf(before, answers, "fresh", later)));
  const renewed = { ...answers, version: "v1.37.0" } as const;
  assert.ok(!isReported(before.status, statusOf(before, renewed, "fresh", later)));
  assert.ok(!isReported(profile.status, status));
});

/** A Secret with a token of these times. */
function secret(issued: string, expires: string) {
  const claims = { iat: Date.parse(issued) / 1000, exp: Date.parse(expires) / 1000 };
  const payload = Buffer.from(JSON.stringify(claims)).toString("base64url");
  return { data: { [tokenKey]: Buffer.from(`header.${payload}.signature`).toString("base64") } };
}
const month = secret("2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z");

const ages: readonly (readonly [now: string, age: ReturnType<typeof ageOf>])[] = [
  ["2026-11-01T00:00:00Z", "fresh"],
  ["2026-11-15T23:59:59Z", "fresh"],
  ["2026-11-16T00:00:00Z", "due"],
  ["2026-11-30T23:59:59Z", "due"],
  ["2026-12-01T00:00:00Z", "expired"],
];
for (const [now, age] of ages)
  test(`reports a token that is valid in November as ${age} at ${now}`, () =>
    assert.equal(ageOf(month, Date.parse(now)), age));

test("reports a token's age as unknown if its times are missing or not valid", () => {
  assert.equal(ageOf(undefined, 0), "unknown");
  assert.equal(ageOf({}, 0), "unknown");
  for (const token of ["opaque", "header.e30.signature"])
    assert.equal(ageOf({ data: { [tokenKey]: btoa(token) } }, 0), "unknown");
});

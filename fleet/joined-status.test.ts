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
import { tokenFrom } from "#kube/token.fixture.ts";
import { isDue, isReported, statusOf, type FoundCluster } from "./joined-status.ts";

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
  joined: string,
  healthy: string,
  guarded: string,
])[] = [
  [answers, "True TokenAccepted", "True Ready", "True PoliciesInPlace"],
  [
    { ...answers, ready: false, guarded: undefined },
    "True TokenAccepted",
    "False NotReady",
    "Unknown NotAsked",
  ],
  [{ ...answers, guarded: false }, "True TokenAccepted", "True Ready", "False PoliciesMissing"],
  [{ kind: "refused" }, "False TokenRefused", "Unknown NotAsked", "Unknown NotAsked"],
  [
    { kind: "noAccess", why: "GPS448" },
    "False NoCredential",
    "Unknown NotAsked",
    "Unknown NotAsked",
  ],
  [away, "Unknown NotReached", "Unknown Unreachable", "Unknown NotAsked"],
];
for (const [observation, joined, healthy, guarded] of cases)
  test(`M2: ${JSON.stringify(observation)}: Joined ${joined}, healthy ${healthy}, guarded ${guarded}`, () => {
    const words = statusOf(profile, observation, now).conditions?.map(
      ({ status, reason }) => `${status} ${reason}`,
    );
    assert.deepEqual(words, [joined, healthy, guarded]);
  });

test("keeps the condition Joined, the version and the times in status while a cluster is unreachable", () => {
  const before = { ...profile, status: statusOf(profile, answers, now) };
  const later = statusOf(before, away, new Date("2026-11-24T09:00:00Z"));
  const [joined, healthy] = later.conditions ?? [];
  assert.equal(`${joined?.status} ${joined?.lastTransitionTime}`, "True 2026-11-23T09:00:00Z");
  assert.equal(`${healthy?.status} ${healthy?.lastTransitionTime}`, "Unknown 2026-11-24T09:00:00Z");
  assert.equal(later.version?.kubernetes, "v1.36.3");
});

test("shows the command to join again if the token was refused", () =>
  assert.match(
    statusOf(profile, { kind: "refused" }, now).conditions?.[0]?.message ?? "",
    /kubectl pull-secret fleet join east --context admin@east$/,
  ));

test("in the command to join again, repeats the server flags of the former join", () => {
  const annotations = {
    ...profile.metadata.annotations,
    [serverAnnotation]: "https://east.example:6443",
    [serverNameAnnotation]: "kubernetes",
    [systemRootsAnnotation]: "true",
  };
  const joined = { ...profile, metadata: { ...profile.metadata, annotations } };
  assert.match(
    statusOf(joined, { kind: "refused" }, now).conditions?.[0]?.message ?? "",
    /--context admin@east --server https:\/\/east\.example:6443 --tls-server-name kubernetes --system-roots$/,
  );
});

test("writes the status again only if a condition or the version has changed", () => {
  const status = statusOf(profile, answers, now);
  const later = new Date("2026-11-24T09:00:00Z");
  const before = { ...profile, status };
  assert.ok(isReported(before.status, statusOf(before, answers, later)));
  const renewed = { ...answers, version: "v1.37.0" } as const;
  assert.ok(!isReported(before.status, statusOf(before, renewed, later)));
  assert.ok(!isReported(profile.status, status));
});

const secretOf = (token: string) => ({ data: { [tokenKey]: btoa(token) } });
const month = tokenFrom(Date.parse("2026-11-01T00:00:00Z"), Date.parse("2026-12-01T00:00:00Z"));

const renewals: readonly (readonly [now: string, isDue: boolean])[] = [
  ["2026-11-01T00:00:00Z", false],
  ["2026-11-15T23:59:59Z", false],
  ["2026-11-16T00:00:00Z", true],
  ["2026-11-30T23:59:59Z", true],
  ["2026-12-01T00:00:00Z", true],
];
for (const [at, expected] of renewals)
  test(`at ${at}, ${expected ? "renews" : "keeps"} a token that is valid in November`, () =>
    assert.equal(isDue(secretOf(month), Date.parse(at)), expected));

test("renews no token that states no times", () => {
  const withNull = `header.${btoa('{"iat":null,"exp":null}')}.signature`;
  for (const secret of [
    undefined,
    {},
    secretOf("opaque"),
    secretOf("header.e30.signature"),
    secretOf(withNull),
  ])
    assert.equal(isDue(secret, 0), false);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { redactAll, redactText } from "./redact.ts";

const terms = {
  names: new Set(["ip-10-0-3f7a.internal", "k8s.example", "registry.example/gps@sha256:0a1b"]),
  secrets: ["correct-horse"],
};

const cases: readonly (readonly [text: string, shown: string])[] = [
  [
    "GPS206 /host/kubelet/config.json: is a link; replace it (tried 3 times, 10s apart)",
    "GPS206 /host/kubelet/config.json: is a link; replace it (tried 3 times, 10s apart)",
  ],
  [
    "revision 7 halted at 2026-11-23T09:00:00Z on 99/100",
    "revision 7 halted at 2026-11-23T09:00:00Z on 99/100",
  ],
  [
    "GPS305 rollout: halted [kubectl pull-secret help GPS305], token#gps",
    "GPS305 rollout: halted [kubectl pull-secret help GPS305], token#gps",
  ],
  ["x#hunter2", "[redacted]"],
  ["node ip-10-0-3f7a.internal: away", "node ip-10-0-3f7a.internal: away"],
  ["kubelet v1.36.3 of k8s.example", "kubelet v1.36.3 of k8s.example"],
  ["the token service is down!", "the token service is down!"],
  ["it is pl4nted-s3cret", "it is [redacted]"],
  ["it is correct-horse, from n1", "it is [redacted], from [redacted]"],
  ["get https://robot:hunter@quay.io/v2/", "get https://[redacted]@quay.io/v2/"],
  [
    "--password=hunter --original=kube-system/pull-secret",
    "--password=[redacted] --original=kube-system/pull-secret",
  ],
  ["Authorization: Basic hunter", "Authorization: Basic [redacted]"],
  ['{"auth":"hunter"}', '{"auth":"[redacted]"}'],
  ["tr$ub", "[redacted]"],
  ["пароль", "[redacted]"],
  ["ImagePullBackOff of NodesCannotBeServed", "ImagePullBackOff of NodesCannotBeServed"],
  ["dTpwNHNz", "[redacted]"],
  ["b".repeat(40), "[redacted]"],
];
for (const [text, shown] of cases)
  test(`shows "${text}" as "${shown}"`, () => assert.equal(redactText(text, terms), shown));

test("redacts a known credential in any text", () => {
  const some = fc
    .string({ minLength: 4, maxLength: 20 })
    .filter((secret) => !"[redacted]".includes(secret));
  fc.assert(
    fc.property(some, fc.string(), fc.string(), (secret, before, after) => {
      const text = redactText(`${before}${secret}${after}`, {
        names: new Set(),
        secrets: [secret],
      });
      assert.ok(!text.includes(secret));
    }),
  );
});

test("redacts every text in a value, but no field names", () => {
  assert.deepEqual(redactAll({ s3cret: ["pl4nted", 7, true, null] }, terms), {
    s3cret: ["[redacted]", 7, true, null],
  });
});

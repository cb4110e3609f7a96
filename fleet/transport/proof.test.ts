import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { keptProof } from "./excerpt.ts";
import { proofOf } from "./proof.ts";

const name = "fleet-pull-secret";
const served = { name: "fleet", resourceVersion: "40", servedResourceVersion: "40" };

/**
 * A GlobalPullSecret that lists the Secret as a source. Its status contains `verdict` as the entry
 * of this source.
 */
function object(verdict: object, status: object = {}, spec: object = {}) {
  return {
    metadata: { name: "cluster", generation: 3 },
    spec: { sources: [{ name: "fleet", secretRef: { name } }], ...spec },
    status: {
      observedGeneration: 3,
      sources: [{ accepted: "True", reason: "Accepted", ...verdict }],
      nodes: { summary: "2/3" },
      ...status,
    },
  };
}
const stalled = (reason: string) => ({
  conditions: [{ type: "Stalled", status: "True", reason, message: "robot:secret" }],
});
const notStalled = { conditions: [{ type: "Stalled", status: "False", reason: "Progressing" }] };
const read = { ...served, servedResourceVersion: "39" };
const notListed = {
  ...object(served),
  spec: { sources: [{ name: "x", secretRef: { name: "x" } }] },
};

const table: readonly (readonly [
  what: string,
  given: object | undefined,
  is: string,
  why?: RegExp,
])[] = [
  ["there is no GlobalPullSecret", undefined, "held", /GPS454/],
  ["it does not list the Secret", notListed, "held", /GPS454/],
  ["its nodes have this version", object(served), "proved"],
  ["its nodes have a later version", object({ ...served, servedResourceVersion: "100" }), "proved"],
  ["versions are compared as numbers", object({ ...read, servedResourceVersion: "9" }), "awaited"],
  [
    "its spec has not been read",
    object(served, { observedGeneration: 2 }),
    "awaited",
    /SpecUnread/,
  ],
  ["the version has not been read", object({ name: "fleet" }), "awaited", /SecretUnread/],
  ["its nodes are changing", object(read), "awaited", /nodes 2\/3/],
  ["it is withdrawn", object(served, {}, { managementState: "Withdrawn" }), "held", /Withdrawn/],
  [
    "it was paused before its nodes had the version",
    object(read, {}, { managementState: "Paused" }),
    "held",
    /Paused/,
  ],
  [
    "it was paused after its nodes had the version",
    object(served, {}, { managementState: "Paused" }),
    "proved",
  ],
  [
    "its controller is not allowed to read the Secret",
    object({ ...read, reason: "Forbidden" }),
    "held",
    /Forbidden/,
  ],
  [
    "its controller refuses the document",
    object({ ...read, accepted: "False", reason: "Invalid" }),
    "refused",
    /Invalid/,
  ],
  ["its nodes failed with the document", object(read, stalled("Halted")), "refused", /Halted/],
  [
    "it is stalled for another reason",
    object(read, stalled("ForeignObject")),
    "held",
    /ForeignObject/,
  ],
  ["it is not stalled any more", object(read, notStalled), "awaited", /nodes 2\/3/],
  ["its reason is not a single word", object(read, stalled("see robot:secret")), "held", /Unknown/],
  [
    "its count of nodes is not valid",
    object(read, { nodes: { summary: "robot:secret" } }),
    "awaited",
    /not counted/,
  ],
];

for (const [what, pullSecret, is, why = /^/] of table)
  test(`${what}: ${is}`, () => {
    const proof = proofOf(pullSecret, name, "40");
    assert.equal(proof.is, is);
    const said = "why" in proof ? (proof.why ?? "") : "";
    assert.match(said, why);
    assert.doesNotMatch(said, /robot/);
    const excerpt = pullSecret && keptProof(pullSecret);
    assert.deepEqual(proofOf(excerpt, name, "40"), proof, "from what we keep of the object");
  });

test("law: handles any object, and quotes none of its text", () => {
  const odd = fc.oneof(fc.anything(), fc.constantFrom("robot:secret", null, [], {}));
  const objects = fc.record(
    {
      metadata: fc.record({ generation: odd }),
      spec: fc.record({ sources: odd, managementState: odd }),
      status: fc.record({ observedGeneration: odd, sources: odd, conditions: odd, nodes: odd }),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(objects, (pullSecret) => {
      const proof = proofOf(pullSecret as object, name, "40");
      assert.doesNotMatch(JSON.stringify(proof), /robot/);
    }),
  );
});

test("law: never proves a version that the nodes do not have", () => {
  fc.assert(
    fc.property(
      fc.bigInt({ min: 0n, max: 10n ** 19n }),
      fc.bigInt({ min: 0n, max: 10n ** 19n }),
      (has, version) => {
        const pullSecret = object({ ...served, servedResourceVersion: String(has) });
        assert.equal(proofOf(pullSecret, name, String(version)).is === "proved", has >= version);
      },
    ),
  );
});

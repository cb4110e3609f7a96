/** Tests the check that a joined account's policies are in force. The API server is a fake. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Cluster } from "#kube/client/cluster.ts";
import { secretsIn } from "#kube/client/paths.ts";
import { assertAddressed, denial, mockPauses, refusal } from "../fake.fixture.ts";
import { Refused } from "../terminal/io.ts";
import { untilGuarded } from "./guard-check.ts";

const targets = ["one", "two"].map((name) => ({ namespace: "kube-system", name }));
const [firstPath, two] = targets.map(({ name }) => `${secretsIn("kube-system")}/${name}`);
const immutable = refusal(422, "PATCH", "/x");

type Script = Readonly<{
  /** Paths of the Secrets that exist. */
  existing: readonly (string | undefined)[];
  /** The answers to the dry runs, in order. The last answer repeats. Undefined: accepted. */
  secrets?: readonly (Error | undefined)[];
  tokens?: readonly (Error | undefined)[];
  reads?: readonly (Error | undefined)[];
}>;

/**
 * Runs the check until the guards are in force. Returns the paths of the Secrets that the check
 * tries to create.
 */
async function tried({ existing, secrets = [denial], tokens = [denial], reads = [] }: Script) {
  const all: string[] = [];
  const answers = { secrets: [...secrets], tokens: [...tokens], reads: [...reads] };
  const next = (of: keyof typeof answers) => {
    const answer = answers[of].length > 1 ? answers[of].shift() : answers[of][0];
    if (answer !== undefined) throw answer;
  };
  const account = {
    async get(path: string) {
      next("reads");
      return existing.includes(path) ? {} : undefined;
    },
    async create(path: string, body: object) {
      assertAddressed(path, body);
      next("tokens");
    },
    async apply(path: string, body: object, { dryRun }: { dryRun: boolean }) {
      assert.ok(dryRun);
      assertAddressed(path, body);
      all.push(path);
      next("secrets");
    },
  };
  await untilGuarded(account as unknown as Cluster, targets);
  return all;
}

test("tries to create the first Secret that does not exist", async () => {
  assert.deepEqual(await tried({ existing: [] }), [firstPath]);
  assert.deepEqual(await tried({ existing: [firstPath] }), [two]);
});

test("does not try to create a Secret if all Secrets exist", async () =>
  assert.deepEqual(await tried({ existing: [firstPath, two], secrets: [immutable] }), []));

test("tries again until the policy refuses a Secret", async () =>
  assert.deepEqual(
    await tried({ existing: [firstPath], secrets: [undefined, immutable, denial] }),
    [two, two, two],
  ));

test("before it tries to create a Secret, waits until a policy refuses a token and the account can read Secrets", async () => {
  for (const status of [401, 403]) {
    const tokens = [undefined, refusal(status, "POST", "/x"), denial];
    assert.deepEqual(await tried({ existing: [], tokens }), [firstPath]);
    const reads = [refusal(status, "GET", "/x"), undefined];
    assert.deepEqual(await tried({ existing: [], reads }), [firstPath]);
  }
});

for (const error of [refusal(500, "POST", "/x"), new TypeError("not an answer")])
  test(`ends at an error that says nothing about the policies: ${error.name}`, async () =>
    await assert.rejects(tried({ existing: [], tokens: [error, denial] }), error));

for (const [what, accepted, outcome] of [
  ["waits 15 s for the policies", 59, [firstPath]],
  ["refuses an account that its policies do not limit within 15 s", 60, Refused],
] as const)
  test(what, async (t) => {
    const pauses = mockPauses(t);
    const tokens = [...Array.from({ length: accepted }, () => undefined), denial];
    const ended = tried({ existing: [], tokens });
    assert.deepEqual(await ended.catch((error: Error) => error.constructor), outcome);
    assert.equal(pauses.passed, 14_750);
  });

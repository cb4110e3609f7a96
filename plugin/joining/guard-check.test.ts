/** Checks whether a joined account's policies are in force. The account's answers are scripted. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Cluster } from "#kube/client/cluster.ts";
import { secretsIn } from "#kube/client/paths.ts";
import { denial, refusal } from "../fake.fixture.ts";
import { untilGuarded } from "./guard-check.ts";

const targets = ["one", "two"].map((name) => ({ namespace: "kube-system", name }));
const [one, two] = targets.map(({ name }) => `${secretsIn("kube-system")}/${name}`);
const immutable = refusal(422, "PATCH", "/x");

type Script = Readonly<{
  /** Paths of the Secrets that exist. */
  there: readonly (string | undefined)[];
  /** The answers to the dry runs, in order. The last one repeats. Undefined: accepted. */
  secrets?: readonly (Error | undefined)[];
  tokens?: readonly (Error | undefined)[];
  reads?: readonly (Error | undefined)[];
}>;

/**
 * Returns the paths of the Secrets that the check tries to create until the guards are in force.
 */
async function tried({ there, secrets = [denial], tokens = [denial], reads = [] }: Script) {
  const all: string[] = [];
  const answers = { secrets: [...secrets], tokens: [...tokens], reads: [...reads] };
  const next = (of: keyof typeof answers) => {
    const answer = answers[of].length > 1 ? answers[of].shift() : answers[of][0];
    if (answer !== undefined) throw answer;
  };
  const account = {
    async get(path: string) {
      next("reads");
      return there.includes(path) ? {} : undefined;
    },
    create: async () => next("tokens"),
    async apply(path: string, _: object, { dryRun }: { dryRun: boolean }) {
      assert.ok(dryRun);
      all.push(path);
      next("secrets");
    },
  };
  await untilGuarded(account as unknown as Cluster, targets);
  return all;
}

test("tries to create the first Secret that does not exist", async () => {
  assert.deepEqual(await tried({ there: [] }), [one]);
  assert.deepEqual(await tried({ there: [one] }), [two]);
});

test("does not try to create a Secret if all exist, because their types cannot be changed anyway", async () =>
  assert.deepEqual(await tried({ there: [one, two], secrets: [immutable] }), []));

test("tries again while a Secret is accepted, or refused for a reason other than the policy", async () =>
  assert.deepEqual(await tried({ there: [one], secrets: [undefined, immutable, denial] }), [
    two,
    two,
    two,
  ]));

test("does not try to create a Secret until a token is refused by policy and Secrets can be read", async () => {
  const tokens = [undefined, refusal(401, "POST", "/x"), denial];
  assert.deepEqual(await tried({ there: [], tokens }), [one]);
  assert.deepEqual(await tried({ there: [], reads: [refusal(403, "GET", "/x"), undefined] }), [
    one,
  ]);
});

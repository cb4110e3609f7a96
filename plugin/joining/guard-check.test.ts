/** What proves that a joined account's policies are in force. The account is scripted. */
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
  /** The answer to each dry run in order, and to all later ones; undefined: it is accepted. */
  secrets?: readonly (Error | undefined)[];
  tokens?: readonly (Error | undefined)[];
  reads?: readonly (Error | undefined)[];
}>;

/** Paths of the Secrets whose creation was tried, until the account counted as guarded. */
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

test("tries no Secret if all exist, because their types cannot be changed anyway", async () =>
  assert.deepEqual(await tried({ there: [one, two], secrets: [immutable] }), []));

test("tries again while a Secret is accepted, or refused for another reason", async () =>
  assert.deepEqual(await tried({ there: [one], secrets: [undefined, immutable, denial] }), [
    two,
    two,
    two,
  ]));

test("tries no Secret while the token is accepted or not known, or the Secrets may not be read", async () => {
  const tokens = [undefined, refusal(401, "POST", "/x"), denial];
  assert.deepEqual(await tried({ there: [], tokens }), [one]);
  assert.deepEqual(await tried({ there: [], reads: [refusal(403, "GET", "/x"), undefined] }), [
    one,
  ]);
});

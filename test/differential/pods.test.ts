/**
 * Compares the order in which we expect the kubelet to try the entries of a pod's pull Secrets with
 * the order in the kubelet's own code.
 */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import { pullSecret } from "#plugin/fake.fixture.ts";
import { readSecret, secretTries } from "#plugin/pods/keyring.ts";
import { Random } from "../random.ts";
import { ask, held, type Question } from "./oracle.ts";

const seed = Number(process.env["SEED"] ?? Date.now() % 2 ** 32);
const pods = 500;
const keys = [
  "quay.io",
  "https://quay.io",
  "https://quay.io/v1/",
  "quay.io/team",
  "*.io",
  "ghcr.io",
];
const image = "quay.io/team/app";

test(`reports the kubelet's order for the pull Secrets of ${pods} random pods`, async (t) => {
  t.diagnostic(`SEED=${seed}`);
  const random = new Random(seed);
  const asked = Array.from({ length: pods }, () =>
    Array.from({ length: 1 + random.below(3) }, () => {
      const chosen = Array.from({ length: 1 + random.below(3) }, () => random.pick(keys));
      return Object.fromEntries(chosen.map((key) => [key, `u${random.below(4)}:p`]));
    }),
  );
  const secretsOf = (documents: readonly Record<string, string>[]) =>
    documents.map((entries) => pullSecret(entries));
  const questionOf = (documents: readonly Record<string, string>[]): Question => ({
    file: Buffer.from("{}"),
    secrets: secretsOf(documents).map(({ data }) =>
      Buffer.from(data?.[".dockerconfigjson"] ?? "", "base64"),
    ),
    images: [image],
  });
  const answers = await ask(asked.map(questionOf));
  const unseen: Question[] = [];
  let drawn = 0;
  for (const [at, documents] of asked.entries()) {
    const context = `seed ${seed}: ${JSON.stringify(documents)}`;
    const read = secretsOf(documents).map((secret, place) => readSecret(`s${place}`, secret));
    const tries = secretTries(read, image);
    const { tries: theirs = [], varies = false } = answers[at]?.lookups[0] ?? {};
    const numbers = tries.map(({ order }) => order);
    const isDrawn = new Set(numbers).size < numbers.length;
    drawn += Number(isDrawn);
    assert.ok(isDrawn || !varies, `${context}: the order varies`);
    if (isDrawn && !varies) unseen.push(questionOf(documents));
    // Sorts the users that explain lists at the same place, because the kubelet's order among these
    // users is random.
    const sorted = (users: readonly string[]) =>
      [...new Set(numbers)].map((order) =>
        users.filter((_, index) => numbers[index] === order).toSorted(),
      );
    const ours = tries.map(({ supplier }) => held(Buffer.from(supplier), Buffer.from("p")));
    assert.equal(theirs.length, ours.length, context);
    assert.deepEqual(sorted(ours), sorted(theirs), context);
  }
  t.diagnostic(`${drawn} pods have a random order`);
  assert.ok(drawn > pods / 50);
  // For each question the oracle fills 128 keyrings. In one of 4,000 cases with a random order, all
  // 128 keyrings have the same order by chance. With eight times as many keyrings this does not
  // happen.
  const repeated = unseen.flatMap((question) => Array.from({ length: 8 }, () => question));
  const again = repeated.length === 0 ? [] : await ask(repeated);
  const varied = unseen.map((_, at) =>
    again.slice(at * 8, at * 8 + 8).some(({ lookups }) => lookups[0]?.varies === true),
  );
  assert.ok(!varied.includes(false), `seed ${seed}: an order is fixed that is reported as random`);
});

/**
 * Compares the credentials that our code reads from random files with those that the kubelet's own
 * code reads. `SEED=n` repeats a run, `DIFFERENTIAL_FILES=n` sets the number of files.
 */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import { explain, match } from "#pullsecret/kubelet/match.ts";
import { canonical } from "#pullsecret/merge/canonical.ts";
import { repositoryOf } from "#pullsecret/registry/image.ts";
import { readAsKubelet } from "#pullsecret/kubelet/kubelet.ts";
import { merge, type Merged } from "#pullsecret/merge/merge.ts";
import { parse, type Accepted } from "#pullsecret/document/parse.ts";
import { formatPath } from "#pullsecret/problems/keypath.ts";
import { dockerHubKey, identity, isHubWithoutSlash } from "#pullsecret/registry/registry.ts";
import { ask, held, type OracleAnswer, type Held, type Question } from "./oracle.ts";
import { randomFile } from "./files.ts";
import { Random } from "../random.ts";
import { randomImage } from "./references.ts";

const seed = Number(process.env["SEED"] ?? Date.now() % 2 ** 32);
const files = Number(process.env["DIFFERENTIAL_FILES"] ?? 10_000);
const imagesPerFile = 4;

/**
 * The groups of credentials that we expect for an image. The kubelet tries one group after another.
 * Within a group its order is random.
 */
function ourTries(file: Uint8Array, image: string): Held[][] {
  const read = readAsKubelet(file);
  const repository = repositoryOf(image);
  if (!read.ok || repository === undefined) return [];
  return match(read.entries, repository).tries.map((group) =>
    group.map(({ username, password }) => held(username, password)),
  );
}

/** Cuts the kubelet's answer into groups of the same sizes as our groups, and sorts each group. */
function regroup(tries: readonly Held[], groups: readonly Held[][]): Held[][] {
  let from = 0;
  const cut = groups.map(({ length }) => tries.slice(from, (from += length)).toSorted());
  return from < tries.length ? [...cut, tries.slice(from)] : cut;
}

/**
 * True if no image name can match the key according to identity(). False for keys with `[` or `%`,
 * because identity() treats them as special cases.
 */
function isUnmatchable(key: string): boolean {
  return identity(key) === undefined && !/^(?:https?:\/\/)?[^/]*\[|%/.test(key);
}

/** Returns true if explain reports that the kubelet's order for the image is random. */
function isDrawn(file: Uint8Array, image: string): boolean {
  const tries = explain(file, image, "file")?.explanation.tries ?? [];
  return new Set(tries.map(({ order }) => order)).size < tries.length;
}

/**
 * `reported`: the number of look-ups whose order is random according to explain. `unseen`: the
 * look-ups among these in which all keyrings of the oracle had the same order.
 */
const draws = { reported: 0, unseen: [] as Question[] };

/**
 * How often a look-up in `draws.unseen` is repeated. In a map of 16 entries, Go visits two
 * neighbours in reverse order in one of 16 cases. Therefore in one of 4,000 look-ups, all 128
 * keyrings have the same order by chance. With 16 times as many keyrings this does not happen.
 */
const again = 16;

async function neverVary(questions: readonly Question[]): Promise<readonly Question[]> {
  const answers = await ask(
    questions.flatMap((question) => Array.from({ length: again }, () => question)),
  );
  const varies = ({ lookups }: OracleAnswer) => lookups[0]?.varies === true;
  return questions.filter((_, at) => !answers.slice(at * again, (at + 1) * again).some(varies));
}

function compare({ file, images }: Question, answer: OracleAnswer): void {
  const context = `seed ${seed}, file ${JSON.stringify(file.toString())}`;
  const read = readAsKubelet(file);
  assert.equal(
    read.ok,
    answer.parses,
    `${context}: ${read.ok ? "" : `${read.kind} at ${read.path}`}`,
  );
  const entries = read.ok
    ? read.entries.map(({ key, username, password }) => held(username, password, key))
    : [];
  assert.deepEqual(entries.toSorted(), answer.entries.toSorted(), context);
  for (const [index, image] of images.entries()) {
    const lookup = answer.lookups[index];
    assert.equal(repositoryOf(image), lookup?.name, `${context}, image ${image}`);
    const ours = ourTries(file, image).map((group) => group.toSorted());
    assert.deepEqual(ours, regroup(lookup?.tries ?? [], ours), `${context}, image ${image}`);
    const drawn = isDrawn(file, image);
    assert.ok(drawn || lookup?.varies !== true, `${context}, image ${image}: the order varies`);
    if (drawn) {
      draws.reported += 1;
      if (lookup?.varies !== true) draws.unseen.push({ file, images: [image] });
    }
    const tried =
      read.ok && lookup?.name !== undefined ? match(read.entries, lookup.name).tries.flat() : [];
    assert.ok(!tried.some(({ key }) => isUnmatchable(key)), `${context}, image ${image}`);
  }
}

test(`reports the entries that the kubelet uses, in the kubelet's order, for ${files} random files`, async (t) => {
  t.diagnostic(`SEED=${seed}`);
  const random = new Random(seed);
  const questions = Array.from({ length: files }, () => ({
    file: randomFile(random),
    images: Array.from({ length: imagesPerFile }, () => randomImage(random)),
  }));
  const answers = await ask(questions);
  assert.equal(answers.length, files);
  for (const [index, question] of questions.entries())
    compare(question, answers[index] as OracleAnswer);
  // Without this check the test could prove nothing: if no random file parsed, or no image matched,
  // both sides would always agree.
  const tried = answers
    .flatMap(({ lookups }) => lookups)
    .filter(({ tries }) => tries.length > 0).length;
  const parsed = answers.filter(({ parses }) => parses).length;
  t.diagnostic(`${parsed} files parse, ${tried} lookups find something`);
  assert.ok(parsed > files / 4 && tried > files / 2);
  t.diagnostic(`${draws.reported} orders are random, ${draws.unseen.length} did not vary at once`);
  assert.ok(draws.reported > files / 1000);
  const fixed = draws.unseen.length === 0 ? [] : await neverVary(draws.unseen);
  assert.deepEqual(
    fixed.map(({ file }) => file.toString()),
    [],
    `seed ${seed}: reported as random, but the order never varied`,
  );
});

test(`merges each source into a document in which the kubelet finds the same credentials as in the source`, async (t) => {
  t.diagnostic(`SEED=${seed}`);
  const random = new Random(seed + 1);
  const cases: {
    merged: Extract<Merged, { ok: true }>;
    source?: Buffer | undefined;
    images: string[];
  }[] = [];
  let earlier: Accepted | undefined;
  for (let index = 0; index < files; index++) {
    const bytes = randomFile(random);
    const role = random.pick(["original", "additional"] as const);
    const images = Array.from({ length: imagesPerFile }, () => randomImage(random));
    const parsed = parse(bytes, { name: role, role });
    if (!parsed.ok) continue;
    const alone = merge([{ id: role, accepted: parsed }], {
      conflicts: "additional",
      protect: [],
    });
    assert.ok(alone.ok);
    cases.push({ merged: alone, source: withoutOmissions(bytes, parsed), images });
    if (role === "additional" && earlier !== undefined) {
      const both = merge(
        [
          { id: "additional", accepted: parsed },
          { id: "original", accepted: earlier },
        ],
        { conflicts: "additional", protect: [] },
      );
      assert.ok(both.ok);
      cases.push({ merged: both, images });
    } else earlier = parsed;
  }
  const emitted = await ask(
    cases.map(({ merged, images }) => ({ file: Buffer.from(canonical(merged)), images })),
  );
  const before = await ask(
    cases.map(({ source, images }) => ({ file: source ?? Buffer.from("{}"), images })),
  );
  let several = 0;
  for (const [index, { merged, source, images }] of cases.entries()) {
    const context = `seed ${seed}, source ${JSON.stringify(source?.toString())}, emitted ${canonical(merged)}`;
    const expectedEntries = merged.entries.map(({ registry, credential: { username, password } }) =>
      held(Buffer.from(username), Buffer.from(password), registry),
    );
    const answer = emitted[index] as OracleAnswer;
    assert.ok(answer.parses, context);
    assert.deepEqual(answer.entries.toSorted(), expectedEntries.toSorted(), context);
    if (source === undefined) continue;
    for (const [at, image] of images.entries()) {
      const tried = (file: Buffer, from: OracleAnswer | undefined): Held[][] =>
        regroup(from?.lookups[at]?.tries ?? [], ourTries(file, image)).map(withoutRepeats);
      const now = tried(Buffer.from(canonical(merged)), answer);
      const then = tried(source, before[index]);
      several += Number(now.some(({ length }) => length > 1));
      assert.deepEqual(now, then, `${context}, image ${image}`);
    }
  }
  t.diagnostic(`${cases.length} documents written`);
  assert.ok(cases.length > files / 10);
  t.diagnostic(`${several} lookups find several credentials of one registry`);
  assert.ok(several > files / 10_000, "no original had several credentials");
});

/**
 * The source without the entries that our merge leaves out with a warning, and with Docker Hub's
 * key in its intended form. Undefined if two keys differ only in their redacted part, because then
 * the warning does not show which key is left out.
 */
function withoutOmissions(source: Buffer, { entries, warnings }: Accepted): Buffer | undefined {
  const document = JSON.parse(source.toString()) as {
    auths?: Record<string, unknown> | null;
  } | null;
  const warned = (key: string, ...codes: readonly string[]): boolean =>
    warnings.some(({ code, path }) => codes.includes(code) && path === formatPath(["auths", key]));
  const shown = Object.keys(document?.auths ?? {}).map((key) => formatPath(["auths", key]));
  if (new Set(shown).size < shown.length) return undefined;
  // The warning's path can be a field of the entry.
  const isLeftOut = (key: string): boolean => {
    const entry = formatPath(["auths", key]);
    return warnings.some(
      ({ code, path }) => code === "GPS169" && (path === entry || path.startsWith(`${entry}.`)),
    );
  };
  const isMeant = (key: string): boolean => warned(key, "GPS157") && isHubWithoutSlash(key);
  const auths = Object.entries(document?.auths ?? {})
    .filter(([key]) => !warned(key, "GPS166", "GPS167") && !isLeftOut(key))
    .map(([key, entry]) => [isMeant(key) ? dockerHubKey : key, entry] as const);
  assert.ok(auths.length >= entries.length);
  return Buffer.from(JSON.stringify({ ...document, auths: Object.fromEntries(auths) }));
}

/**
 * If a registry has two spellings, the kubelet tries the same credential twice. We write the
 * credential once.
 */
const withoutRepeats = (group: readonly Held[]): Held[] => [...new Set(group)].toSorted();

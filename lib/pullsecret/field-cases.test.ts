/** Documents and images from the field: our verdict, and the kubelet's behaviour. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { parse } from "./document/parse.ts";
import { explain, match } from "./kubelet/match.ts";
import { readAsKubelet } from "./kubelet/kubelet.ts";
import { canonical } from "./merge/canonical.ts";
import { merge, type Merged } from "./merge/merge.ts";
import type { MergeSource } from "./merge/offer.ts";
import { formatProblem, type Problem } from "./problems/problems.ts";
import { repositoryOf } from "./registry/image.ts";

/** See vectors/README.md. */
type Case = Readonly<{
  id: string;
  why: string;
  additional?: string;
  original?: string;
  file?: string;
  conflict?: "original" | "additional";
  protect?: string;
  image?: string;
  expect?: "accept" | "warn" | "reject";
  at?: string;
  auths?: Record<string, string>;
  tries?: readonly string[];
  users?: readonly (readonly string[])[];
  invalid?: true;
  absent?: string;
  codes?: string;
  tests?: readonly [file: string, ...names: string[]];
  documented?: readonly [file: string, heading: string, ...sentences: string[]];
}>;

const cases = JSON.parse(
  readFileSync(new URL("vectors/field-cases.json", import.meta.url), "utf8"),
) as readonly Case[];

function run({ additional, original, conflict = "additional", protect }: Case): Merged {
  const sources: MergeSource[] = [];
  for (const [id, text] of Object.entries({ additional, original })) {
    if (text === undefined) continue;
    const role = id as "additional" | "original";
    const accepted = parse(Buffer.from(text), { name: id, role });
    if (!accepted.ok) return accepted;
    sources.push({ id, accepted });
  }
  return merge(sources, { conflicts: conflict, protect: protect === undefined ? [] : [protect] });
}

const lines = (problems: readonly Problem[]): string => problems.map(formatProblem).join("\n");

/** `user:password` of the entries that the kubelet tries, in its order. */
function triedIn(document: string, image: string): string[] {
  const read = readAsKubelet(Buffer.from(document));
  assert.ok(read.ok);
  return match(read.entries, repositoryOf(image) ?? assert.fail(image))
    .tries.flat()
    .map(({ username, password }) => `${username.toString()}:${password.toString()}`);
}

function decoded(document: string): Record<string, string> {
  const { auths } = JSON.parse(document) as { auths: Record<string, { auth?: string }> };
  const pairs = Object.entries(auths).map(([key, { auth = "" }]) => [
    key,
    Buffer.from(auth, "base64").toString(),
  ]);
  return Object.fromEntries(pairs) as Record<string, string>;
}

const codesOf = (problems: readonly Problem[]): string =>
  problems.map(({ code }) => code).join(" ");

function checkCase(fieldCase: Case): void {
  const merged = run(fieldCase);
  const reported = merged.ok ? merged.warnings : merged.problems;
  const verdict = merged.ok ? (reported.length > 0 ? "warn" : "accept") : "reject";
  assert.equal(verdict, fieldCase.expect, lines(reported));
  assert.equal(codesOf(reported), fieldCase.codes ?? "");
  assert.ok(lines(reported).includes(fieldCase.at ?? ""), lines(reported));
  if (!merged.ok) return;
  const document = canonical(merged);
  assert.deepEqual(decoded(document), fieldCase.auths ?? decoded(document));
  assert.deepEqual(triedIn(document, fieldCase.image ?? ""), fieldCase.tries);
}

function explainCase(fieldCase: Case): void {
  const explained = explain(Buffer.from(fieldCase.file ?? ""), fieldCase.image ?? "", "FILE.json");
  assert.equal(explained === undefined, fieldCase.invalid === true);
  if (explained === undefined) return;
  assert.ok(!JSON.stringify(explained).includes(fieldCase.absent ?? "\0"));
  assert.equal(explained.dropped?.code, fieldCase.codes);
  const groups = Map.groupBy(explained.explanation.tries, ({ order }) => order);
  const users = [...groups.values()].map((group) => group.map(({ username }) => username));
  assert.deepEqual(users, fieldCase.users);
}

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Runs the tests that the cases name, and returns the names of the tests that passed. */
async function passed(): Promise<ReadonlySet<string>> {
  const named = cases.flatMap(({ tests = [] }) => [tests]).filter(({ length }) => length > 0);
  const files = [...new Set(named.map(([file = ""]) => file))];
  const patterns = named.flatMap(([, ...names]) =>
    names.map((name) => `--test-name-pattern=^${name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`),
  );
  const { NODE_TEST_CONTEXT: _ours, ...env } = process.env;
  const argv = ["--test", "--test-reporter=tap", ...patterns, ...files];
  const child = spawn(process.execPath, argv, {
    cwd: root,
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const output = (await child.stdout.toArray()).join("");
  const passes = [...output.matchAll(/^ *ok \d+ - ((?:(?! # (?:SKIP|TODO)).)*)$/gm)];
  return new Set(passes.map(([, name = ""]) => name.replaceAll("\\#", "#")));
}

function isDocumented(file: string, heading: string, sentences: readonly string[]): void {
  const text = readFileSync(`${root}${file}`, "utf8");
  const section = text.split(/^## /m).find((part) => part.startsWith(`${heading}\n`));
  const prose = (section ?? assert.fail(`${file} lacks ${heading}`)).replace(/\s+/g, " ");
  for (const sentence of sentences) assert.ok(prose.includes(sentence), `${heading}: ${sentence}`);
}

test("has all 122 cases, each with an outcome", () => {
  assert.equal(new Set(cases.map(({ id }) => id)).size, 122);
  for (const { id, ...fieldCase } of cases)
    assert.ok(
      fieldCase.expect ??
        fieldCase.users ??
        fieldCase.invalid ??
        fieldCase.tests ??
        fieldCase.documented,
      id,
    );
});

const behaves = passed();

for (const fieldCase of cases) {
  const { id, why, tests, documented } = fieldCase;
  if (tests !== undefined)
    test(`${id}: ${why}: the tests of the outcome pass`, async () => {
      const [, ...names] = tests;
      for (const name of names) assert.ok((await behaves).has(name), name);
    });
  else if (documented !== undefined)
    test(`${id}: ${why}: is documented as a limit`, () => {
      const [file, heading, ...sentences] = documented;
      assert.ok(sentences.length > 0);
      isDocumented(file, heading, sentences);
    });
  else
    test(`${id}: ${why}: ${fieldCase.expect ?? "as the kubelet does"}`, () =>
      fieldCase.file === undefined ? checkCase(fieldCase) : explainCase(fieldCase));
}

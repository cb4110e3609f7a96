/** Documents and images as people have them: what we say, and what the kubelet would do. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { parse } from "./document/parse.ts";
import { explain } from "./kubelet/explain.ts";
import { readAsKubelet } from "./kubelet/kubelet.ts";
import { match } from "./kubelet/match.ts";
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
  first?: string;
  users?: readonly (readonly string[])[];
  invalid?: true;
  absent?: string;
  shown?: readonly [file: string, text: string];
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

function judge(one: Case): void {
  const merged = run(one);
  if (one.expect === "reject") {
    assert.ok(!merged.ok);
    assert.ok(lines(merged.problems).includes(one.at ?? ""), lines(merged.problems));
    return;
  }
  assert.ok(merged.ok, merged.ok ? "" : lines(merged.problems));
  if (one.expect !== undefined)
    assert.equal(merged.warnings.length > 0, one.expect === "warn", lines(merged.warnings));
  const document = canonical(merged);
  if (one.auths !== undefined) assert.deepEqual(decoded(document), one.auths);
  if (one.tries !== undefined) assert.deepEqual(triedIn(document, one.image ?? ""), one.tries);
  if (one.first !== undefined)
    assert.equal(triedIn(document, one.image ?? "")[0]?.split(":")[0], one.first);
}

function explainCase(one: Case): void {
  const explained = explain(Buffer.from(one.file ?? ""), one.image ?? "", "FILE.json");
  assert.equal(explained === undefined, one.invalid === true);
  if (explained === undefined) return;
  assert.ok(!JSON.stringify(explained).includes(one.absent ?? "\0"));
  const groups = Map.groupBy(explained.explanation.tries, ({ order }) => order);
  const users = [...groups.values()].map((group) => group.map(({ username }) => username));
  assert.deepEqual(users, one.users);
}

const root = new URL("../", import.meta.url);

test("no case is lost: there are 86", () => assert.equal(cases.length, 86));

for (const one of cases) {
  const { id, why, shown } = one;
  if (shown === undefined)
    test(`${id}: ${why}: ${one.expect ?? "as the kubelet does"}`, () =>
      one.file === undefined ? judge(one) : explainCase(one));
  else
    test(`${id}: ${why}: is shown, or documented as a limit, in ${shown[0]}`, () => {
      const [file, text] = shown;
      assert.ok(readFileSync(new URL(file, root), "utf8").includes(text), `${file} lacks ${text}`);
    });
}

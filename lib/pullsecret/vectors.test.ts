import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { canonical } from "./merge/canonical.ts";
import { merge, type Merged } from "./merge/merge.ts";
import type { MergeSource } from "./merge/offer.ts";
import { parse } from "./document/parse.ts";
import { formatProblem, type Problem } from "./problems/problems.ts";

/** See vectors/README.md. */
type Vector = Readonly<{
  id: number;
  why: string;
  additional?: string;
  additional_base64?: string;
  original?: string;
  conflict?: "original" | "additional";
  expect: "accept" | "warn" | "reject";
  at?: string;
  auths?: Record<string, string>;
  absent?: string[];
  present?: string[];
}>;

const vectors = JSON.parse(
  readFileSync(new URL("vectors/pull-secrets.json", import.meta.url), "utf8"),
) as readonly Vector[];

function run(vector: Vector): Merged {
  const bytes = Buffer.from(
    vector.additional_base64 ?? vector.additional ?? "",
    vector.additional_base64 ? "base64" : "utf8",
  );
  const additional = parse(bytes, { name: "additional", role: "additional" });
  if (!additional.ok) return additional;
  const sources: MergeSource[] = [{ id: "additional", accepted: additional }];
  if (vector.original !== undefined) {
    const original = parse(Buffer.from(vector.original), { name: "original", role: "original" });
    if (!original.ok) return original;
    sources.push({ id: "original", accepted: original });
  }
  return merge(sources, { conflicts: vector.conflict ?? "additional", protect: [] });
}

function lines(problems: readonly Problem[]): string {
  return problems.map(formatProblem).join("\n");
}

test("has all 60 vectors", () => assert.equal(vectors.length, 60));

for (const vector of vectors) {
  test(`H24: vector ${vector.id}, ${vector.why}: ${vector.expect}`, () => {
    const merged = run(vector);
    if (vector.expect === "reject") {
      assert.ok(!merged.ok);
      assert.ok(lines(merged.problems).includes(vector.at ?? ""), lines(merged.problems));
      return;
    }
    assert.ok(merged.ok, merged.ok ? "" : lines(merged.problems));
    assert.equal(merged.warnings.length > 0, vector.expect === "warn", lines(merged.warnings));
    const document = JSON.parse(canonical(merged)) as Record<string, unknown>;
    const auths = document["auths"] as Record<string, { auth: string }>;
    const decoded = Object.entries(auths).map(([key, { auth }]) => [
      key,
      Buffer.from(auth, "base64").toString(),
    ]);
    assert.deepEqual(Object.fromEntries(decoded), vector.auths);
    for (const name of vector.absent ?? []) assert.ok(!(name in document), name);
    for (const name of vector.present ?? []) assert.ok(name in document, name);
  });
}

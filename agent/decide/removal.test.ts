import assert from "node:assert/strict";
import test from "node:test";
import { answerOf } from "#pullsecret/provider.ts";
import { rowsFor } from "#pullsecret/provider.fixture.ts";
import {
  absent,
  check,
  decide,
  facts,
  type FactsChange,
  follow,
  foreign,
  idle,
  mounted,
  restarting,
  settling,
  renewed,
  unanswered,
} from "../facts/facts.fixture.ts";
import { fileOf } from "../node.fixture.ts";
import { afterProvider, providedBy } from "../delivery/provider/plan.ts";
import type { Document } from "../delivery/mount.ts";
import { digestOf, type Journal } from "../journal/journal.ts";

const value = { auth: "dTpw" };
const both: Document = {
  ...mounted,
  desired: {
    entries: new Map([
      ["a.io", { value, original: false }],
      ["b.io", { value, original: false }],
    ]),
    rest: new Map(),
  },
};
const planned = absent.plan(undefined, both, false);
const journal: Journal = { ...idle, owned: planned.owned };
const file = fileOf(textOf(planned.file));
/** The newest content is of revision 8 and has these registries. */
const newest = (...registries: readonly string[]) => ({
  revision: 8,
  has: (registry: string) => registries.includes(registry),
});
const gone: FactsChange = {
  order: "none",
  mounted: { kind: "other", revision: 8 },
  journal,
  file,
  newest: newest("b.io"),
};

function textOf(file: Readonly<{ absent: true }> | Readonly<{ bytes: Buffer }>): string {
  return "bytes" in file ? file.bytes.toString() : assert.fail("no file");
}

test("removes a registry that the newest content lacks, without an order, a preflight or a restart", () => {
  for (const change of [{}, { unit: unanswered }, { healthy: false }, { elsewhere: "no pods/u" }]) {
    const { steps, end } = follow({ ...gone, ...change });
    assert.deepEqual(steps.slice(0, 2), ["apply GPS226 → applied", "record GPS226 → applied"]);
    assert.ok(end.journal.kind === "journal" && end.file.kind === "file");
    const { owned, revision } = end.journal.journal;
    assert.deepEqual([owned.entries.map(({ key }) => key), revision], [["b.io"], 7]);
    const { auths } = JSON.parse(textOf(end.file.now)) as { auths: object };
    assert.deepEqual(Object.keys(auths), ["b.io"]);
  }
});

test("restores what the removed entry had displaced", () => {
  const theirs = '{"auths":{"a.io":{"auth":"dTp0aGVpcnM="}}}';
  const { owned, file: written } = fileOf(theirs).plan(undefined, both, false);
  const { end } = follow({
    ...gone,
    journal: { ...journal, owned },
    file: fileOf(textOf(written)),
  });
  assert.ok(end.file.kind === "file");
  const { auths } = JSON.parse(textOf(end.file.now)) as { auths: Record<string, unknown> };
  assert.deepEqual(auths, { "a.io": { auth: "dTp0aGVpcnM=" }, "b.io": value });
});

test("removes nothing while a change is under way, or if the newest content is not newer", () => {
  const during = (change: Journal): Journal => ({ ...change, owned: planned.owned });
  check([
    ["restarting", { ...gone, journal: during(restarting) }, "restart GPS212 → restarting"],
    ["on probation", { ...gone, journal: during(settling), unit: renewed }, "wait GPS215"],
    ["it has all registries", { ...gone, newest: newest("a.io", "b.io") }, "nothing GPS200 Proved"],
    [
      "the same revision",
      { ...gone, newest: { ...newest(), revision: 7 } },
      "nothing GPS200 Proved",
    ],
    [
      "an older revision",
      { ...gone, newest: { ...newest(), revision: 6 } },
      "nothing GPS200 Proved",
    ],
    ["an invalid file", { ...gone, file: foreign("not JSON") }, "nothing GPS252"],
  ]);
});

test("pauses between two writes, and continues with the journal if it was killed after the write", () => {
  check([
    ["another program keeps writing", { ...gone, writeIn: 500 }, "wait GPS226"],
    [
      "killed after the write",
      { ...gone, file: fileOf('{"auths":{"b.io":{"auth":"dTpw"}}}') },
      "record GPS226 → applied",
    ],
  ]);
});

test("removes the registry from the provider's answer in the same write", () => {
  const answer = answerOf(new Map([...both.desired.entries.keys()].map((key) => [key, value])));
  const rest = answerOf(new Map([["b.io", value]]));
  const installed = { rows: rowsFor([]), answer, identity: "x", asked: false };
  for (const files of [providedBy(file, installed, "All"), afterProvider(file, installed)])
    for (const owned of [planned.owned, { entries: [], rest: [] }]) {
      const step = decide(
        facts({
          ...gone,
          file: files,
          journal: { ...journal, owned: { ...owned, answer: digestOf(answer) } },
        }),
      );
      assert.ok(step.action === "apply");
      assert.deepEqual(step.plan.first?.bytes, rest);
      assert.equal(step.journal.owned.answer, digestOf(rest));
      assert.equal(step.plan.keepsConfig, owned.entries.length === 0 ? true : undefined);
    }
});

/**
 * An agent of a mode without restarts, and then an agent of mode Restart. Decisions only, with
 * config.json and the provider's answer in memory.
 */
import assert from "node:assert/strict";
import test from "node:test";
import type { ProviderScope } from "#contract/names.ts";
import { usualSeconds, rereadSeconds } from "#contract/times.ts";
import { rowsFor } from "#pullsecret/provider.fixture.ts";
import { answerOf } from "#pullsecret/provider.ts";
import { emptyDocument, readDocument } from "./delivery/config-json/document.ts";
import { foundOf } from "./delivery/config-json/plan.ts";
import type { FoundFile, Rewrite } from "./delivery/delivery.ts";
import type { Document } from "./delivery/mount.ts";
import { afterProvider, providedBy } from "./delivery/provider/plan.ts";
import {
  absent,
  notAsked,
  decide,
  facts,
  idle,
  mounted,
  unanswered,
  nothingMounted,
  now,
  restarting,
  seven,
  unit,
  withdrawn,
  written,
} from "./facts/facts.fixture.ts";
import { type File, firstJournal, type Journal } from "./journal/journal.ts";

const [old, desiredAuth] = ["dTpw", "dTpuZXc="];
const eight = { ...seven, revision: 8, digest: "eight's" };

function configOf(file: File): FoundFile {
  if ("absent" in file)
    return foundOf({ kind: "absent", identity: "absent", document: emptyDocument });
  const digest = file.bytes.toString();
  const reading = readDocument(file.bytes);
  assert.ok(reading.kind === "document");
  const { document } = reading;
  return foundOf({ kind: "file", identity: digest, ...file, document, digest });
}

const fileWith = (auths: object): File => ({
  bytes: Buffer.from(JSON.stringify({ auths })),
  mode: 0o600,
});

/** A node of mode CredentialProvider that is ordered one entry. */
class Node {
  file: File = { absent: true };
  answer = answerOf(new Map());
  journal: Journal | undefined;
  seconds = 0;
  /** When the kubelet first runs the provider, in seconds; undefined: never. */
  asks: number | undefined;
  scope: ProviderScope = "All";
  key = "a.io";
  original = false;
  auth = desiredAuth;
  readonly proved: boolean[] = [];

  /** Runs a round once a second, for the given number of seconds or until the content is proved. */
  pass(seconds: number, until: "proved" | "the end" = "the end"): this {
    for (const end = this.seconds + seconds; this.seconds < end;) {
      const step = this.#step();
      if ("journal" in step) this.journal = step.journal;
      if (step.action === "apply") this.#write(step.plan);
      if (["apply", "record"].includes(step.action)) continue;
      const isProved = "result" in step && step.result === "Proved";
      this.proved.push(isProved);
      if (isProved && until === "proved") break;
      this.seconds += 1;
    }
    return this;
  }

  /** Whether the kubelet finds a credential for the registry, in the file and in the answer. */
  get routes(): Readonly<Record<"file" | "answer", boolean>> {
    const has = (bytes: Buffer | undefined) => bytes?.includes("a.io") === true;
    return { file: "bytes" in this.file && has(this.file.bytes), answer: has(this.answer) };
  }

  #step() {
    const { key, original, journal, answer, seconds } = this;
    const entries = new Map([[key, { value: { auth: this.auth }, original }]]);
    const desired = { entries, rest: new Map() };
    const asked = this.asks !== undefined && seconds >= this.asks;
    const installed = { rows: rowsFor([]), answer, identity: "x", asked };
    return decide(
      facts({
        file: providedBy(configOf(this.file), installed, this.scope),
        journal: journal ?? { kind: "none" },
        order: eight,
        mounted: { ...mounted, revision: 8, digest: "eight's", content: "eight", desired },
        unit: notAsked,
        config: { restart: "Never" },
        time: { boot: "b", monotonic: 1_000_000 + 1000 * seconds },
        now: now + 1000 * seconds,
      }),
    );
  }

  #write({ first, keepsConfig, file, last }: Rewrite): void {
    if (first !== undefined) this.answer = first.bytes;
    if (keepsConfig !== true) this.file = file;
    if (last !== undefined) this.answer = last.bytes;
  }
}

const node = (change: Partial<Node> = {}) => Object.assign(new Node(), change);
const ours = { journal: idle, file: fileWith({ "a.io": { auth: old } }) };

const slow: readonly (readonly [string, Partial<Node>])[] = [
  ["another mode's content, and a kubelet that never runs the provider", ours],
  ["another mode's content, and a kubelet that runs the provider later", { ...ours, asks: 200 }],
  ["an original", { asks: 0, original: true }],
  ["a registry with a port that no row names", { asks: 0, key: "a.io:5000" }],
];
for (const [what, change] of slow)
  test(`proves in time on a node whose kubelet has to read config.json: ${what}`, () => {
    const { seconds } = node(change).pass(3600, "proved");
    assert.ok(seconds >= rereadSeconds && seconds < usualSeconds(5));
  });

const quick: readonly (readonly [string, Partial<Node>])[] = [
  ["another mode's content", ours],
  ["another mode's content that stays the same", { ...ours, auth: old }],
  ["an entry of the node's own", { file: fileWith({ "a.io": { auth: old } }) }],
  ["nothing", {}],
];
for (const [what, change] of quick)
  test(`serves the answer at the next pull of a kubelet that runs the provider, whatever config.json had: ${what}`, () => {
    const { seconds, routes } = node({ ...change, asks: 0 }).pass(3600, "proved");
    assert.equal(seconds, 0);
    assert.deepEqual(routes, { file: false, answer: true });
  });

test("stays proved when the kubelet runs the provider for the first time", () => {
  const nodeAfter = node({ ...ours, auth: old, asks: 10 }).pass(400);
  assert.deepEqual(new Set(nodeAfter.proved), new Set([true]));
  assert.deepEqual(nodeAfter.routes, { file: false, answer: true });
});

test("keeps our entry in config.json until the kubelet has run the provider; with scope Annotated, removes the entry at once", () => {
  assert.deepEqual(node(ours).pass(400).routes, { file: true, answer: true });
  for (const change of [{}, ours])
    assert.deepEqual(node({ ...change, scope: "Annotated" }).pass(400).routes, {
      file: false,
      answer: true,
    });
});

test("restarts the kubelet after a switch to mode Restart only for an order", () => {
  const { owed: _owed, ...rest } = restarting;
  const journal = { ...rest, renamed: facts({}).time };
  const common = { journal, file: written, unit, config: { restart: "Always" } } as const;
  for (const order of ["none", "unknown"] as const)
    assert.equal(decide(facts({ ...common, order, mounted: nothingMounted })).action, "wait");
  const unasked = { ...common, order: "none", mounted: nothingMounted } as const;
  assert.equal(decide(facts({ ...unasked, unit: unanswered })).code, "GPS254");
  assert.equal(decide(facts({ ...common, order: seven })).action, "restart");
  // An order of newer content replaces this change, as in the other modes.
  const mountedEight: Document = { ...mounted, revision: 8, digest: "eight's" };
  const { action } = decide(facts({ ...common, order: eight, mounted: mountedEight }));
  assert.equal(action, "record");
});

test("empties the answer on withdrawal, even if no journal lists it", () => {
  const answer = answerOf(new Map([["a.io", { auth: old }]]));
  const installed = { rows: rowsFor([]), answer, identity: "x", asked: true };
  const modes = [providedBy(absent, installed, "All"), afterProvider(absent, installed)];
  for (const file of modes)
    for (const journal of [{ kind: "none" } as const, firstJournal({ absent: true })]) {
      const step = decide(
        facts({ file, journal, mounted: withdrawn, unit: notAsked, config: { restart: "Never" } }),
      );
      assert.ok(step.action === "apply");
      assert.deepEqual(step.plan.last?.bytes, answerOf(new Map()));
    }
});

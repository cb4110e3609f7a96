/**
 * What the readers of documents and journals must guarantee for any input. You can repeat each case
 * by its seed.
 */
import assert from "node:assert/strict";
import { readDocument } from "#agent/delivery/config-json/document.ts";
import {
  before,
  contentWith,
  entry,
  facts,
  fileWith,
  idle,
  restarting,
  reviving,
} from "#agent/facts/facts.fixture.ts";
import { decide } from "#agent/decide/decide.ts";
import { readJournal } from "#agent/journal/read.ts";
import { type Journal, writeJournal } from "#agent/journal/journal.ts";
import { canonical } from "#pullsecret/merge/canonical.ts";
import { readAsKubelet } from "#pullsecret/kubelet/kubelet.ts";
import { merge } from "#pullsecret/merge/merge.ts";
import { parse } from "#pullsecret/document/parse.ts";
import { formatProblem } from "#pullsecret/problems/problems.ts";
import { randomFile } from "../differential/files.ts";
import { Random, words } from "../random.ts";

const planted = "pl4nted";
const encoded = Buffer.from(`u:${planted}`).toString("base64");

/**
 * Runs `runCase` for `cases` seeds, starting with `from`. A failure names its seed, so that you can
 * repeat it.
 */
function forEachSeed(cases: number, from: number, runCase: (random: Random) => void): void {
  const clean = Object.getOwnPropertyNames(Object.prototype).join();
  for (let seed = from; seed < from + cases; seed += 1) {
    try {
      runCase(new Random(seed));
    } catch (error) {
      throw new Error(`SEED=${seed}`, { cause: error });
    }
  }
  assert.equal(Object.getOwnPropertyNames(Object.prototype).join(), clean);
}

/**
 * Reads files that are valid, nearly valid, or odd where JSON parsers differ. Readers must not
 * throw. The kubelet must be able to read every accepted file. Writing and reading such a file must
 * not change its content. No output line must contain a password.
 */
export function fuzzDocuments(cases: number, from: number): void {
  let accepted = 0;
  forEachSeed(cases, from, (random) => {
    const bytes = Buffer.from(
      randomFile(random).toString("latin1").replaceAll("dTpw", encoded),
      "latin1",
    );
    readDocument(bytes);
    for (const role of ["original", "additional"] as const) {
      const parsed = parse(bytes, { name: role, role });
      for (const problem of parsed.ok ? parsed.warnings : parsed.problems) {
        const line = formatProblem(problem);
        assert.ok(!line.includes(planted) && !line.includes(encoded), line);
      }
      if (!parsed.ok) continue;
      accepted += 1;
      assert.ok(readAsKubelet(bytes).ok, "accepted, but the kubelet drops it");
      const text = serialized(parsed);
      const again = parse(Buffer.from(text), { name: role, role: "original" });
      assert.ok(again.ok && serialized(again) === text, "writing and reading it again changes it");
    }
  });
  assert.ok(
    accepted > cases / 20,
    `${accepted} of ${cases} accepted: the generator no longer hits its target`,
  );
}

function serialized(original: Extract<ReturnType<typeof parse>, { ok: true }>): string {
  const merged = merge([{ id: "original", accepted: original }], {
    conflicts: "additional",
    protect: [],
  });
  assert.ok(merged.ok);
  return Buffer.from(canonical(merged)).toString();
}

const content = { ...contentWith(6, entry("a.io", planted)), rest: [{ key: "x", raw: "1.0" }] };
const journals: readonly Journal[] = [
  idle,
  before,
  { ...restarting, back: content },
  { ...restarting, content, deaths: 2 },
  { ...reviving, content },
];

const open = (name: string) =>
  journals.map((journal) => writeJournal(journal).theirs).find((theirs) => theirs?.name === name)
    ?.bytes;
/** Journals as the agent stores them. */
const stored: readonly unknown[] = journals.map(
  (journal) => JSON.parse(writeJournal(journal).bytes.toString()) as unknown,
);

const odd: readonly unknown[] = [
  null,
  true,
  -1,
  0.5,
  1e308,
  "",
  encoded,
  "{",
  [],
  {},
  [null],
  { absent: true },
];

/** Removes a part of the value, or replaces the part, mostly by a value of the same type. */
function mutate(random: Random, value: unknown): unknown {
  const other = (): unknown =>
    random.pick(
      random.once(3) ? odd : odd.filter((candidate) => typeof candidate === typeof value),
    );
  if (typeof value !== "object" || value === null || random.once(8)) return other();
  const members = Object.entries(value);
  if (members.length === 0) return other();
  const [name, inner] = random.pick(members);
  const rest = members.filter(([other]) => other !== name);
  const changed = random.once(6) ? rest : [...rest, [name, mutate(random, inner)] as const];
  return Array.isArray(value) ? changed.map(([, member]) => member) : Object.fromEntries(changed);
}

const cuts = words('{ } [ ] , : " 0 \\ null');

/**
 * Reads journals with missing fields, other types or values, or damaged bytes. The reader must
 * neither throw nor quote content, and `decide` must handle every accepted journal.
 */
export function fuzzJournals(cases: number, from: number): void {
  let through = 0;
  forEachSeed(cases, from, (random) => {
    let value: unknown = random.pick(stored);
    for (let times = random.below(3); times >= 0; times -= 1) value = mutate(random, value);
    let text = JSON.stringify(value);
    if (random.once(8)) {
      const at = random.below(text.length + 1);
      text = text.slice(0, at) + random.pick(cuts) + text.slice(at + random.below(3));
    }
    const reading = readJournal(Buffer.from(text), open);
    if ("why" in reading)
      assert.ok(!reading.why.includes(encoded) && !reading.why.includes(planted));
    through += Number(reading.kind === "journal");
    const present = { bytes: Buffer.from('{"auths":{}}'), mode: 0o600 };
    for (const file of [present, { absent: true } as const])
      decide(facts({ journal: reading, file: fileWith(file) }));
  });
  assert.ok(through > cases / 20, `${through} of ${cases} accepted`);
}

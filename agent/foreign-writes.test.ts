/**
 * Other programs write config.json on a node that has proved its content and gets no other content.
 */
import assert from "node:assert/strict";
import test from "node:test";
import { seeded } from "#test/random.ts";
import { emptyDocument, readDocument } from "./delivery/config-json/document.ts";
import { foundOf } from "./delivery/config-json/plan.ts";
import type { FoundFile } from "./delivery/delivery.ts";
import { decide, facts, idle, now, seven, unasked, unit } from "./facts/facts.fixture.ts";
import type { File, Journal } from "./journal/journal.ts";

function toFoundFile(file: File): FoundFile {
  if ("absent" in file)
    return foundOf({ kind: "absent", identity: "absent", document: emptyDocument });
  const digest = `${file.bytes.toString()} ${file.mode}`;
  const reading = readDocument(file.bytes);
  const document = reading.kind === "document" ? reading.document : emptyDocument;
  const invalid = reading.kind === "document" ? undefined : "no JSON";
  return foundOf({ kind: "file", identity: digest, ...file, document, invalid, digest });
}

const [ours, theirs] = ["dTpw", "dTpx"];
/** The file after another program's write: absent, or with other entries, form or mode. */
const foreign: readonly File[] = [
  { absent: true },
  ...[
    {},
    { "a.io": { auth: ours } },
    { "https://a.io": { auth: ours } },
    { "a.io": { auth: theirs } },
    { "a.io": { username: "u", password: "p" } },
    { "a.io": { auth: ours, email: "a@b.c" } },
    { "a.io": { auth: ours }, "b.io": { auth: theirs } },
  ].flatMap((auths) =>
    [0o600, 0o644].map((mode) => ({ bytes: Buffer.from(JSON.stringify({ auths })), mode })),
  ),
  { bytes: Buffer.from('{"au'), mode: 0o600 },
];

test("does not restart the kubelet, whatever other programs write, even if a repair is interrupted", (t) => {
  const random = seeded(t);
  for (let run = 0; run < 200; run += 1) {
    const source = random.once(3) ? unasked : { order: seven };
    let journal: Journal = idle;
    let file = foreign[3] as File;
    let [clock, invocation, starts] = [0, "old", 0];
    const trace: string[] = [];
    for (let look = 0; look < 60; look += 1) {
      if (random.once(5)) file = random.pick(foreign);
      if (random.once(25)) invocation = `somebody's ${(starts += 1)}`;
      const step = decide(
        facts({
          ...source,
          journal,
          file: toFoundFile(file),
          unit: { ...unit, invocation },
          time: { boot: "b", monotonic: 1_000_000 + clock },
          now: now + clock,
          stopwatch: { file: 5000, running: 60_000, healthy: 60_000 },
        }),
      );
      trace.push(`${step.action} ${step.code}`);
      assert.notEqual(step.action, "restart", trace.slice(-10).join(", "));
      if ("journal" in step) journal = step.journal;
      // Another program was faster, or the agent was killed.
      if (step.action === "apply" && !random.once(6)) ({ file } = step.plan);
      clock += 1000 * random.below(20);
    }
  }
});

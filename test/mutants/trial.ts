/**
 * Deliberate breakages, each tried on a copy: the tests that are said to find it must, every file
 * of them beside the sources, and one of those under test/.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { reached } from "#build/lanes.ts";
import { allTests, shownBy } from "#tools/pages/promises.ts";
import { missedBy } from "./found.ts";
import type { Mutant } from "./mutant.ts";
import { Workshop } from "./workshop.ts";

/**
 * Each test of these begins and ends with nothing: those that bear the broken promise's number, or
 * the words, are enough, and it takes a boot instead of all its minutes.
 */
const independent: ReadonlySet<string> = new Set([
  "test/fleet/fleet.test.ts",
  "test/fleet/steering.test.ts",
  "test/sync/sync.test.ts",
]);

const tests = allTests();

/** What the names of the file's tests must have to be run; undefined: all of them are. */
function wordsFor(file: string, { breaks, by }: Mutant): string | undefined {
  if (!independent.has(file)) return undefined;
  if (by !== undefined) return by;
  // Of another file's number nothing would be run.
  const within = new Set(reached(file)).add(file);
  const shown = tests.filter((one) => within.has(one.file)).flatMap(({ name }) => shownBy(name));
  return shown.find((number) => number === breaks);
}

/** Test file → how many tests it has on the copy as it is, all of them green. */
const sound = new Map<string, number>();

async function testsOf(workshop: Workshop, file: string): Promise<number> {
  const known = sound.get(file);
  if (known !== undefined) return known;
  const { tests, red, output } = await workshop.run(file);
  assert.equal(red, 0, `${file} is red without any breakage:\n${output}`);
  sound.set(file, tests);
  return tests;
}

/** Whether the file's tests notice the breakage. */
async function isFoundBy(workshop: Workshop, file: string, mutant: Mutant): Promise<boolean> {
  const tests = await testsOf(workshop, file);
  const words = wordsFor(file, mutant);
  if (words !== undefined) {
    const broken = await workshop.broken(mutant, () => workshop.run(file, words));
    assert.ok(broken.tests > 0, `${file} does not even run:\n${broken.output}`);
    const isMeant = (name: string) =>
      mutant.by === undefined ? shownBy(name).includes(words) : name.includes(words);
    return broken.redNames.some(isMeant);
  }
  const broken = await workshop.broken(mutant, () => workshop.run(file));
  // A file that cannot be loaded is red as well, and shows nothing.
  assert.equal(broken.tests, tests, `${file} does not even run:\n${broken.output}`);
  return broken.red > 0;
}

/** Makes a test of each. */
export function tryEach(mutants: readonly Mutant[]): void {
  const workshop = new Workshop();
  after(() => workshop[Symbol.dispose]());
  for (const mutant of mutants) {
    const promise = mutant.breaks === undefined ? "" : ` (${mutant.breaks})`;
    test(`found${promise}: ${mutant.effect}`, async () => {
      const missed = await missedBy(mutant.tests, (file) => isFoundBy(workshop, file, mutant));
      assert.deepEqual(missed, [], `green with ${mutant.file} broken`);
    });
  }
}

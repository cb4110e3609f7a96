/**
 * Makes each deliberate breakage in a copy of the checkout. The test that is listed for it must
 * fail. `node --test --test-name-pattern=L22 test/mutants/breakages.long.test.ts` tries the
 * breakages of one promise.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { shownBy } from "#tools/pages/promises.ts";
import { mutants } from "./list.ts";
import type { Mutant } from "./mutant.ts";
import { Workshop } from "./workshop.ts";

/**
 * Each test of these files begins and ends with an empty cluster. Therefore only the tests with the
 * promise's number run, and a breakage takes one boot of a cluster instead of minutes.
 */
const independent: ReadonlySet<string> = new Set([
  "test/fleet/fleet.test.ts",
  "test/tenants/sync.test.ts",
]);

const workshop = new Workshop();
after(() => workshop[Symbol.dispose]());

/** Test file → the number of its tests in the copy without a breakage. All of them pass. */
const sound = new Map<string, number>();

async function testsOf(file: string): Promise<number> {
  const known = sound.get(file);
  if (known !== undefined) return known;
  const { tests, red, output } = await workshop.run(file);
  assert.equal(red, 0, `${file} fails without any breakage:\n${output}`);
  sound.set(file, tests);
  return tests;
}

async function isFound(mutant: Mutant): Promise<boolean> {
  const { test: file, breaks } = mutant;
  const all = await testsOf(file);
  if (independent.has(file)) {
    const { redNames } = await workshop.broken(mutant, () => workshop.run(file, breaks));
    return redNames.some((name) => shownBy(name).includes(breaks));
  }
  const { tests, red, output } = await workshop.broken(mutant, () => workshop.run(file));
  // A file that cannot be loaded fails as well, and proves nothing.
  assert.equal(tests, all, `${file} does not load:\n${output}`);
  return red > 0;
}

for (const mutant of mutants)
  test(`found (${mutant.breaks}): ${mutant.effect}`, async () => {
    assert.ok(await isFound(mutant), `${mutant.test} passes with ${mutant.file} broken`);
  });

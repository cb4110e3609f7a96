/**
 * Makes each deliberate breakage in a copy of the checkout. A test of the file that is listed for
 * the breakage must fail. `node --test --test-name-pattern=L22 test/mutants/breakages.long.test.ts`
 * tries only the breakages of promise L22.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { shownBy } from "#tools/pages/promises.ts";
import { mutants } from "./list.ts";
import type { Mutant } from "./mutant.ts";
import { Workshop } from "./workshop.ts";

/**
 * In these files each test begins and ends with an empty cluster. Therefore we run only the tests
 * with the promise's number, and a breakage takes one start of a cluster instead of minutes.
 */
const independent: ReadonlySet<string> = new Set([
  "test/fleet/fleet.test.ts",
  "test/tenants/sync.test.ts",
]);

const workshop = new Workshop();
after(() => workshop[Symbol.dispose]());

/** Test file → the number of its tests, all of which pass in the copy without a breakage. */
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
  // A file that does not load fails as well, which proves nothing.
  assert.equal(tests, all, `${file} does not load:\n${output}`);
  return red > 0;
}

for (const mutant of mutants)
  test(`found (${mutant.breaks}): ${mutant.effect}`, async () => {
    assert.ok(await isFound(mutant), `${mutant.test} passes with ${mutant.file} broken`);
  });

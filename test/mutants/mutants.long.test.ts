/** Every deliberate breakage is found by the tests that are said to find it. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { mutants } from "./list.ts";
import { Workshop } from "./workshop.ts";

const workshop = new Workshop();
after(() => workshop[Symbol.dispose]());

/** Test file → how many tests it has on the copy as it is, all of them green. */
const sound = new Map<string, number>();

async function testsOf(file: string): Promise<number> {
  const known = sound.get(file);
  if (known !== undefined) return known;
  const { tests, red, output } = await workshop.run(file);
  assert.equal(red, 0, `${file} is red without any breakage:\n${output}`);
  sound.set(file, tests);
  return tests;
}

for (const mutant of mutants) {
  const promise = mutant.breaks === undefined ? "" : ` (${mutant.breaks})`;
  test(`found${promise}: ${mutant.effect}`, async () => {
    for (const file of mutant.tests) {
      const tests = await testsOf(file);
      const broken = await workshop.broken(mutant, () => workshop.run(file));
      // A file that cannot be loaded is red as well, and shows nothing.
      if (broken.red > 0 && broken.tests === tests) return;
      assert.equal(broken.tests, tests, `${file} does not even run:\n${broken.output}`);
    }
    assert.fail(`${mutant.tests.join(", ")}: all green with ${mutant.file} broken`);
  });
}

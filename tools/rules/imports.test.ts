import assert from "node:assert/strict";
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { temporary } from "#test/temporary.ts";
import { cyclesIn } from "./cycles.ts";
import { checkImports, importsOf } from "./imports.ts";

test("H25: every folder imports only folders before it, files that decide have no effects, and no files import each other", () => {
  assert.deepEqual(checkImports("."), []);
});

test("has no import cycle, even among tests, bench and tools", () => {
  const files = globSync("{agent,bench,controller,fleet,lib,plugin,tenants,test,tools}/**/*.ts");
  const graph = files.map((file) => {
    const needs = importsOf(readFileSync(file, "utf8")).map(({ specifier }) =>
      specifier.startsWith("#") ? specifier.slice(1) : join(dirname(file), specifier),
    );
    return [file, needs] as const;
  });
  assert.deepEqual(cyclesIn(new Map(graph)), []);
});

test("imports files two or more folders up by name, everywhere", () => {
  const byPath = globSync("**/*.ts", { exclude: ["node_modules/**"] }).filter((file) =>
    /^(?:import|export|\}) .*"(?:\.\.\/){2}.*\.ts";$/m.test(readFileSync(file, "utf8")),
  );
  assert.deepEqual(byPath, []);
});

type Files = Readonly<Record<string, string>>;
const cases: readonly (readonly [files: Files, problem: RegExp | undefined])[] = [
  [{ "agent/a.ts": `import { x } from "#controller/x.ts";` }, /controller/],
  [{ "controller/a.ts": `import type { x } from "../agent/x.ts";` }, /agent/],
  [{ "lib/pullsecret/a.ts": `export { x } from "#agent/x.ts";` }, /agent/],
  [{ "lib/contract/a.ts": `import { x } from "#pullsecret/x.ts";` }, /pullsecret/],
  [{ "lib/pullsecret/a.ts": `import { x } from "#contract/x.ts";` }, undefined],
  [{ "plugin/a.ts": `import { x } from "#contract/x.ts";` }, undefined],
  [{ "plugin/a.ts": `import { x } from "#kube/x.ts";` }, undefined],
  [{ "agent/a.ts": `import { x } from "#kube/x.ts";` }, /client of its own/],
  [{ "agent/files/a.ts": `import { x } from "../decide/x.ts";` }, /comes after/],
  [{ "agent/decide/a.ts": `import { x } from "../files/x.ts";` }, undefined],
  [{ "agent/files/a.ts": `import { x } from "../../lib/contract/x.ts";` }, /begin with #contract/],
  [{ "agent/other/a.ts": `import { x } from "#contract/x.ts";` }, /not in the order/],
  [{ "agent/a.ts": `const x = await import("../tools/x.ts");` }, /tools/],
  [{ "agent/a.ts": `import { KubeConfig } from "@kubernetes/client-node";` }, /client-node/],
  [{ "controller/a.ts": `import { Registry } from "prom-client";` }, /belongs to lib\/runtime/],
  [{ "agent/a.ts": `import { x } from "left-pad";` }, /has no folder/],
  [{ "controller/a.ts": `import type { V1Pod } from "@kubernetes/client-node";` }, undefined],
  [{ "lib/kube/a.ts": `import { KubeConfig } from "@kubernetes/client-node";` }, undefined],
  [
    { "agent/a.ts": `import {\n  a,\n  b,\n} from "#contract/names.ts";\nimport "node:fs";` },
    undefined,
  ],
  [{ "agent/a.test.ts": `import { x } from "../test/x.ts";` }, undefined],
  [{ "agent/a.ts": `import { x } from "../test/x.ts";` }, /test/],
  [{ "agent/decide/a.ts": `import { readFileSync } from "node:fs";` }, /reaches node:fs/],
  [{ "agent/decide/a.ts": `import type { Stats } from "node:fs";` }, undefined],
  [{ "agent/decide/a.ts": `export const now = () => Date.now();` }, /reaches Date\.now/],
  [{ "agent/decide/a.ts": `export const now = new Date();` }, /reaches new Date/],
  [{ "agent/decide/a.ts": `export const then = (at: number) => new Date(at);` }, undefined],
  [{ "agent/decide/a.ts": `export const now = () => performance.now();` }, /performance/],
  [{ "agent/decide/a.ts": `export const home = process.env["HOME"];` }, /reaches process/],
  [{ "agent/decide/a.ts": `export const asked = fetch("http://a");` }, /reaches fetch/],
  [
    { "agent/decide/a.ts": ["export const any = Math", "random();"].join(".") },
    /reaches Math\.random/,
  ],
  [{ "agent/decide/a.ts": `setTimeout(() => {}, 1);` }, /reaches setTimeout/],
  [{ "agent/decide/a.ts": `/** Not Date.now(). */\n// Nor process.env.` }, undefined],
  [{ "lib/pullsecret/a.ts": `import { createHash } from "node:crypto";` }, undefined],
  [{ "lib/pullsecret/a.ts": `import { randomBytes } from "node:crypto";` }, /reaches node:crypto/],
  [
    {
      "fleet/rules/a.ts": `import { x } from "#kube/x.ts";`,
      "lib/kube/x.ts": `export const x = Date.now();`,
    },
    /reaches lib\/kube\/x\.ts → Date\.now/,
  ],
  [{ "controller/a.ts": `/** What follows. Pure. */\nexport const now = Date.now();` }, /Date/],
  [{ "controller/a.ts": `/** When it is. */\nexport const now = Date.now();` }, undefined],
  [{ "agent/a.ts": `import { x } from "./a.fixture.ts";` }, /only tests may/],
  [{ "agent/a.test.ts": `import { x } from "./a.fixture.ts";` }, undefined],
  [{ "lib/pullsecret/a.ts": `import { isIP } from "node:net";` }, undefined],
  [{ "lib/pullsecret/a.ts": `import { connect } from "node:net";` }, /reaches node:net/],
  [
    {
      "agent/decide/a.ts": `import { x } from "../files/x.ts";`,
      "agent/files/x.ts": `import { statSync } from "node:fs";`,
    },
    /reaches agent\/files\/x\.ts → node:fs/,
  ],
  [
    {
      "agent/files/a.ts": `import type { B } from "./b.ts";`,
      "agent/files/b.ts": `import type { A } from "./a.ts";`,
    },
    /a\.ts → agent\/files\/b\.ts → agent\/files\/a\.ts: a cycle/,
  ],
];

test("names each import in a forbidden direction, with its file", (t) => {
  const root = temporary(t);
  for (const [files, problem] of cases) {
    for (const [file, source] of Object.entries(files)) {
      mkdirSync(dirname(join(root, file)), { recursive: true });
      writeFileSync(join(root, file), source);
    }
    const violations = checkImports(root);
    assert.equal(
      violations.length,
      problem === undefined ? 0 : 1,
      JSON.stringify([files, violations]),
    );
    if (problem !== undefined) assert.match(violations[0] ?? "", problem);
    for (const file of Object.keys(files)) rmSync(join(root, file));
  }
});

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { checkImports } from "./imports.ts";

test("H25: only in pullsecret/ and contract/ do the programs meet; contract/ imports nothing of ours", () => {
  assert.deepEqual(checkImports("."), []);
});

const cases: readonly (readonly [file: string, source: string, problem: RegExp | undefined])[] = [
  ["agent/a.ts", `import { x } from "../controller/x.ts";`, /controller/],
  ["controller/a.ts", `import type { x } from "../agent/x.ts";`, /agent/],
  ["pullsecret/a.ts", `export { x } from "../agent/x.ts";`, /agent/],
  ["contract/a.ts", `import { x } from "../pullsecret/x.ts";`, /pullsecret/],
  ["pullsecret/a.ts", `import { x } from "../contract/x.ts";`, undefined],
  ["cli/a.ts", `import { x } from "../contract/x.ts";`, undefined],
  ["agent/a.ts", `const x = await import("../build/x.ts");`, /build/],
  ["agent/a.ts", `import { KubeConfig } from "@kubernetes/client-node";`, /client-node/],
  ["controller/a.ts", `import { names } from "../contract/names.ts";`, undefined],
  ["agent/a.ts", `import {\n  a,\n  b,\n} from "../contract/names.ts";\nimport "node:fs";`, undefined],
  ["agent/a.test.ts", `import { x } from "../test/x.ts";`, undefined],
  ["agent/a.ts", `import { x } from "../test/x.ts";`, /test/],
];

test("an import against the direction of the house is named with its file", (t) => {
  const root = mkdtempSync(join(tmpdir(), "imports-"));
  t.after(() => rmSync(root, { recursive: true }));
  for (const [file, source, problem] of cases) {
    mkdirSync(join(root, file, ".."), { recursive: true });
    writeFileSync(join(root, file), source);
    const found = checkImports(root).filter((line) => line.startsWith(`${file}:`));
    assert.equal(found.length, problem === undefined ? 0 : 1, `${file}: ${source}`);
    if (problem !== undefined) assert.match(found[0] ?? "", problem);
    rmSync(join(root, file));
  }
});

/** README.md shows what the demo prints, and commands that tests run. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { endless, linesOf, notRun, shownLines } from "#test/cli/shown-lines.ts";
import { script, transcript } from "#test/demo/script.ts";

const readme = readFileSync("README.md", "utf8");

/** Command of README.md → the test that runs it, or its like. test/cli/shown.ts runs the others. */
const runBy: Readonly<Record<string, string>> = {
  "npm run demo": "test/demo/demo.test.ts",
  "npm run build": "test/release/release.test.ts",
  podman: "test/e2e/promise.test.ts", // builds the Containerfile with buildah, and pushes
  "helm install gps ./manifests/chart": "test/install/install.test.ts",
};

test("a test runs every command of README.md", () => {
  const blocks = readme.match(/^```sh\n.*?^```/gms)?.join("\n") ?? "";
  const commands = linesOf(blocks).filter((line) => line !== "");
  assert.ok(commands.length > 5, String(commands.length));
  const shown = new Set(
    shownLines().flatMap(({ page, line }) => (page === "README.md" ? line : [])),
  );
  const used = commands.flatMap((command) => {
    if (shown.has(command) && !Object.hasOwn(notRun, command)) return [];
    const begin = Object.keys(runBy).find((one) => `${command} `.startsWith(`${one} `));
    assert.ok(begin, `no test runs ${command}`);
    return begin;
  });
  assert.deepEqual(new Set(used), new Set(Object.keys(runBy)));
  for (const file of Object.values(runBy)) assert.ok(existsSync(file), file);
});

test("the pages show every command that test/cli/shown.ts leaves out", () => {
  const lines = new Set(shownLines().map(({ line }) => line));
  for (const line of [...endless, ...Object.keys(notRun)]) assert.ok(lines.has(line), line);
});

test("README.md's transcript has every line of the demo's script, in its order", () => {
  const [, , told = ""] = transcript.exec(readme) ?? [];
  let steps = 0;
  const expected = Object.values(script).map(({ kind, text }) => {
    if (kind === "claim") return `✓ ${text}`;
    steps += 1;
    return `${steps}. ${text}`;
  });
  // Each run has its own times; the image is at its registry.
  const shown = told.trimEnd().replaceAll(/^ *\d+\.\d s +/gm, "");
  assert.equal(
    shown.replaceAll(/\d+\.\d s\b/g, "{seconds} s").replace(/\S+\/team\/app:1\b/, "{image}"),
    expected.join("\n"),
  );
});

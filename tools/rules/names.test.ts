/**
 * One word, one declaration. Types that a file keeps for itself (Options, Fields, Row …) may be
 * declared in several files: they are read with their file, and met nowhere else. An exported name
 * is met in other files, so it is declared once, and no file that could import it gives its word to
 * something else.
 */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";

/** Exported names that two files declare, and why they never meet. */
const twice: Readonly<Record<string, readonly [why: string, ...files: readonly string[]]>> = {
  Cluster: [
    "kube's port for one API server; a real cluster that a test boots",
    "kube/client/cluster.ts",
    "test/cluster/cluster.ts",
  ],
  Rig: [
    "what one folder of tests sets up; none imports the other's",
    "test/clusters/clusters.ts",
    "test/sync/rig.ts",
  ],
};

/** What every program imports: a name of these is met everywhere. */
const shared: ReadonlySet<string> = new Set(["contract", "pullsecret", "kube", "api", "program"]);

const declared = /^(export )?(?:declare )?(?:abstract )?(?:type|interface|class) (\w+)/gm;

type Declared = Readonly<{ name: string; file: string; exported: boolean }>;

const declaredIn = (rooms: string): readonly Declared[] =>
  globSync(`${rooms}/**/*.ts`).flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(declared)].map(([, exported, name = ""]) => {
      return { name, file, exported: exported !== undefined };
    }),
  );

const shipped = "{agent,api,cli,contract,controller,fleet,kube,program,pullsecret,sync}";
const programOf = (file: string) => file.split("/")[0] ?? "";

test("one word, one meaning: no exported type has the name of another one", () => {
  const found = [...declaredIn(shipped), ...declaredIn("{bench,build,test,tools}")];
  const exported = found.filter((one) => one.exported);
  assert.ok(exported.length > 500, String(exported.length));
  const doubles = [...Map.groupBy(exported, ({ name }) => name)].flatMap(([name, all]) =>
    all.length > 1 ? [[name, all.map(({ file }) => file).toSorted()] as const] : [],
  );
  const allowed = Object.entries(twice).map(([name, [, ...files]]) => [name, files] as const);
  assert.deepEqual(Object.fromEntries(doubles), Object.fromEntries(allowed));
});

test("no file keeps for itself a word that it could import with another meaning", () => {
  const found = declaredIn(shipped).filter(({ file }) => !/\.(?:test|fixture)\.ts$/.test(file));
  const exported = Map.groupBy(
    found.filter((one) => one.exported),
    ({ name }) => name,
  );
  const clashes = found.flatMap(({ name, file, exported: isExported }) => {
    const others = isExported ? [] : (exported.get(name) ?? []);
    return others
      .filter(({ file: other }) =>
        [programOf(file), ...shared].some((program) => program === programOf(other)),
      )
      .map(({ file: other }) => `${name}: ${file} and ${other}`);
  });
  assert.deepEqual(clashes, []);
});

/** Word → where alone the code has it; docs/architecture.md says what it means. */
const words: readonly (readonly [word: RegExp, files: RegExp])[] = [
  [/settl/i, /^agent\//],
  [/\brelease\(|#release\b/, /^agent\/delivery\/config-json\/|^controller\/withdrawal\//],
];

test("a word with one meaning is not given another: settling is a phase of journals, a release gives back", () => {
  const files = globSync(`${shipped}/**/*.ts`).map(
    (file) => [file, readFileSync(file, "utf8")] as const,
  );
  for (const [word, where] of words) {
    const having = files.filter(([, text]) => word.test(text)).map(([file]) => file);
    assert.ok(
      having.some((file) => where.test(file)),
      String(word),
    );
    assert.deepEqual(
      having.filter((file) => !where.test(file)),
      [],
      String(word),
    );
  }
});

test("tests await conditions by the one until: no other is written", () => {
  const own = /function (?:until|inTime)\b|\bwhile \(!\(?await\b|\bwhile \(!.*\) await sleep/;
  const files = globSync(["{test,bench,tools}/**/*.ts", `${shipped}/**/*.{test,fixture}.ts`]);
  const writing = files.filter((file) => own.test(readFileSync(file, "utf8")));
  assert.deepEqual(writing.toSorted(), [
    "test/cluster/await.ts",
    // Answers whether it came true instead of failing, by that until.
    "test/faults/agent/waiting.ts",
  ]);
});

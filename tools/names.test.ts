import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";

/** Types that rooms export which never meet; Cluster is kube's port, and the tests' real one. */
const most = 20;

const exported = /^export (?:declare )?(?:abstract )?(?:type|interface|class) (\w+)/gm;

test("one word, one meaning: hardly any exported type has the name of another one", () => {
  const rooms =
    "{agent,api,bench,build,cli,contract,controller,fleet,kube,program,pullsecret,sync,test,tools}";
  const found = globSync(`${rooms}/**/*.ts`).flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(exported)].map(([, name = ""]) => ({ name, file })),
  );
  assert.ok(found.length > 500, String(found.length));
  const twice = [...Map.groupBy(found, ({ name }) => name)]
    .filter(([, all]) => all.length > 1)
    .map(([name, all]) => `${name}: ${all.map(({ file }) => file).join(", ")}`);
  assert.ok(twice.length <= most, twice.join("\n"));
});

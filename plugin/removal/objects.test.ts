import assert from "node:assert/strict";
import { test } from "node:test";
import { installation } from "./objects.ts";

test("uninstall deletes programs before their rights, and each object once", () => {
  const names = installation.map(({ kind, name }) => `${kind} ${name}`);
  assert.equal(new Set(names).size, names.length);
  assert.ok(names.findIndex((title) => title.startsWith("Deployment ")) <= 1);
  for (const { path, name } of installation) assert.ok(path.endsWith(`/${name}`), path);
});

test("uninstall deletes each binding before the role or policy that it binds", () => {
  const titles = installation.map(({ kind, name }) => `${kind} ${name}`);
  const bindings = titles.filter((title) => title.includes("Binding "));
  assert.ok(bindings.length > 0);
  for (const binding of bindings) {
    const bound = titles.indexOf(binding.replace("Binding ", " "));
    assert.ok(titles.indexOf(binding) < bound, binding);
  }
});

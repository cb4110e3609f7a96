import assert from "node:assert/strict";
import { test } from "node:test";
import { commands } from "./commands.ts";
import { call } from "./fake.fixture.ts";

/** As a shell splits it: quoted words are one, and what follows `<` is no argument. */
function words(line: string): string[] {
  const [before = ""] = line.split(" <");
  return (before.match(/"[^"]*"|\S+/g) ?? []).map((word) => word.replaceAll('"', ""));
}

for (const [name, { example, group }] of Object.entries(commands)) {
  test(`\`${name} --help\` has an example, which the command takes`, async () => {
    const help = await call([name, "--help"]);
    assert.equal(help.code, 0);
    assert.ok(help.out.includes(`\nExample:\n  kubectl pull-secret ${name} ${example}`.trimEnd()));
    const { code, err } = await call([name, ...words(example)], {
      input: "secret",
      signal: AbortSignal.abort(),
    });
    // Of files there are none here.
    assert.ok(code !== 2 || /\.(?:json|pem): no such file\n$/.test(err), err);
  });

  if (group !== "local")
    test(`\`${name}\` has the flags that kubectl has for a cluster`, () => {
      for (const flag of ["kubeconfig", "context", "request-timeout", "as"])
        assert.ok(commands[name]?.flags[flag], flag);
    });
}

import assert from "node:assert/strict";
import { test } from "node:test";
import { marked, names, tokens } from "../tokens.fixture.ts";
import { redactTokens, shownUser } from "./token.ts";

test("has 20 different shapes of tokens", () => assert.equal(new Set(tokens).size, 20));

for (const token of tokens)
  test(`F61: hides a user name that looks like ${token.slice(0, 12)}`, () => {
    assert.equal(shownUser(token, "another"), "[redacted]");
    assert.equal(shownUser(token, token), "[redacted]");
    assert.equal(shownUser(token, ""), "[redacted]");
    assert.equal(shownUser(`team+${token}`, "another"), "[redacted]");
  });

test("removes a recognised token from any text, and keeps the text around it", () => {
  for (const token of marked)
    for (const [before, after] of [
      ["a.io/", ""],
      ["", "@a.io"],
      ["team+", " "],
    ] as const)
      assert.equal(redactTokens(`${before}${token}${after}`), `${before}[redacted]${after}`);
  for (const key of [
    "a1b2c3d4e5f6a7b8c9d0.azurecr.io",
    "hashicorp.io/vault",
    "a.io/sk-image-x",
    "global-registry.example.com/team",
    "quay.io/global-platform/app",
    "pypi-proxy.example.com",
    "npm_mirror.example.com",
    "hvs.example.com",
  ])
    assert.equal(redactTokens(key), key);
});

for (const name of names)
  test(`shows the user name ${name} unless it is also the password`, () => {
    assert.equal(shownUser(name, "another"), name);
    assert.equal(shownUser(name, ""), "[redacted]");
    // Three characters are not a secret: a user AWS with the password AWS is a placeholder.
    for (const password of name.length < 4 ? [] : [name, `${name}\n`, name.slice(-4)])
      assert.equal(shownUser(name, password), "[redacted]");
    assert.equal(redactTokens(name), name);
  });

test("shows no user name if the entry has none", () => assert.equal(shownUser("", "p"), ""));

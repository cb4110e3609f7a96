import assert from "node:assert/strict";
import { test } from "node:test";
import { names, tokens } from "../tokens.fixture.ts";
import { redactTokens, shownUser } from "./token.ts";

test("there are 20 shapes of tokens, all different", () => assert.equal(new Set(tokens).size, 20));

for (const token of tokens)
  test(`F61: hides a user name that looks like ${token.slice(0, 12)}`, () => {
    assert.equal(shownUser(token, "another"), "[redacted]");
    assert.equal(shownUser(token, token), "[redacted]");
    assert.equal(shownUser(token, ""), "[redacted]");
    assert.equal(shownUser(`team+${token}`, "another"), "[redacted]");
  });

for (const name of names)
  test(`shows the user name ${name}, unless it is the password as well`, () => {
    assert.equal(shownUser(name, "another"), name);
    assert.equal(shownUser(name, ""), "[redacted]");
    // Three characters are no secret: a user AWS with the password AWS is a placeholder.
    for (const password of name.length < 4 ? [] : [name, `${name}\n`, name.slice(-4)])
      assert.equal(shownUser(name, password), "[redacted]");
    assert.equal(redactTokens(name), name);
  });

test("shows no user name for an entry without one", () => assert.equal(shownUser("", "p"), ""));

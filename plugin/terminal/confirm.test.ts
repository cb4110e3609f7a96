import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { askPassword, confirm } from "./confirm.ts";

const ctrlC = "\u0003";

test("asks for a password without showing it, and returns undefined after Ctrl-C", async () => {
  for (const [typed, answer] of [
    ["pl4nted-s3cret\r", "pl4nted-s3cret"],
    ["pl4nted-s3x\u007fcret\r", "pl4nted-s3cret"],
    ["\r", ""],
    [`pl4nted${ctrlC}`, undefined],
  ] as const) {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const asked = askPassword("Password", input, output);
    input.write(typed);
    assert.equal(await asked, answer);
    assert.equal(String(output.read()), "Password: \n");
  }
});

test("takes only y and yes, in any case, as yes", async () => {
  const answers = {
    y: true,
    YES: true,
    " Yes ": true,
    "": false,
    n: false,
    yess: false,
    ye: false,
  };
  for (const [typed, isYes] of Object.entries(answers)) {
    const input = new PassThrough();
    const asked = confirm("Really?", input, new PassThrough());
    input.write(`${typed}\n`);
    assert.equal(await asked, isYes, typed);
  }
});

for (const [what, asks, [before, after], answer, shown] of [
  ["a password", askPassword, ["pl4n", "ted\r"], "pl4nted", /^Password: Password: \n$/],
  ["yes or no", confirm, ["ye", "s \r"], true, /Password \[y\/N\] .*Password \[y\/N\] /s],
] as const)
  test(`continues to ask for ${what} after Ctrl-Z and fg`, async (t) => {
    const stopped = Promise.withResolvers<void>();
    t.mock.method(process, "kill", () => {
      stopped.resolve();
      return true;
    });
    const [input, output] = [new PassThrough(), new PassThrough()];
    const asked = asks("Password", input, Object.assign(output, { isTTY: true }));
    input.write(`${before}\u001a`);
    await stopped.promise;
    process.emit("SIGCONT", "SIGCONT");
    assert.equal(input.isPaused(), false);
    input.write(after);
    assert.equal(await asked, answer);
    assert.match(String(output.read()), shown);
  });

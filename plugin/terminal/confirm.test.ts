import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { askPassword } from "./confirm.ts";

const ctrlC = "\u0003";

test("asks for a password without showing it, and returns no answer after the end of input or Ctrl-C", async () => {
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

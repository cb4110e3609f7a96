/** `npm run demo` as a new user runs it. Its claims are its own assertions. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { run } from "../cluster/run.ts";

const program = fileURLToPath(new URL("main.ts", import.meta.url));

test("the demo tells its whole script, and every claim holds", async () => {
  const told = await run([process.execPath, program]);
  assert.match(told, /^Every claim was checked and holds\.$/m);
});

import test from "node:test";
import { fuzzReplies } from "./replies.ts";

test("300 conversations with spoiled answers: our own errors only, in bounded time, and no descriptor is kept", async (t) => {
  const from = Number(process.env["SEED"] ?? Date.now() % 1e9);
  t.diagnostic(`SEED=${from}`);
  await fuzzReplies(300, from);
});

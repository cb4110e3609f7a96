import test from "node:test";
import { fuzzReplies } from "./replies.ts";

test("throws only our own errors, in bounded time, and keeps no descriptor open in 300 conversations with damaged answers", async (t) => {
  const from = Number(process.env["SEED"] ?? Date.now() % 1e9);
  t.diagnostic(`SEED=${from}`);
  await fuzzReplies(300, from);
});

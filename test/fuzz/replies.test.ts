import test from "node:test";
import { fuzzReplies } from "./replies.ts";

test("in 300 conversations with damaged answers, throws only our own errors within a time limit, and keeps no descriptor open", async (t) => {
  const from = Number(process.env["SEED"] ?? Date.now() % 1e9);
  t.diagnostic(`SEED=${from}`);
  await fuzzReplies(300, from);
});

import test from "node:test";
import { fuzzReplies } from "./replies.ts";

test("handles 3,000 connections with damaged answers, as in replies.test.ts", async (t) => {
  const from = Number(process.env["SEED"] ?? Date.now() % 1e9);
  t.diagnostic(`SEED=${from}`);
  await fuzzReplies(3000, from);
});

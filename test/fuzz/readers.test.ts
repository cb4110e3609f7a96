import test from "node:test";
import { fuzzDocuments, fuzzJournals } from "./readers.ts";

const from = Number(process.env["SEED"] ?? Date.now() % 1e9);

test("H24: while reading 10,000 odd pull secrets, never throws, quotes no password, and accepts no document that the kubelet ignores", (t) => {
  t.diagnostic(`SEED=${from}`);
  fuzzDocuments(10_000, from);
});

test("while reading 10,000 damaged journals and deciding on them, never throws and quotes no content", (t) => {
  t.diagnostic(`SEED=${from}`);
  fuzzJournals(10_000, from);
});

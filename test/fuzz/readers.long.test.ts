import test from "node:test";
import { fuzzDocuments, fuzzJournals } from "./readers.ts";

const from = Number(process.env["SEED"] ?? Date.now() % 1e9);

test("H24: reads a million odd pull secrets, as in readers.test.ts", (t) => {
  t.diagnostic(`SEED=${from}`);
  fuzzDocuments(1_000_000, from);
});

test("reads a million damaged journals, as in readers.test.ts", (t) => {
  t.diagnostic(`SEED=${from}`);
  fuzzJournals(1_000_000, from);
});

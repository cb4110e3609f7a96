import test from "node:test";
import { fuzzDocuments, fuzzJournals } from "./readers.ts";

const from = Number(process.env["SEED"] ?? Date.now() % 1e9);

test("H24: never throws, accepts no document that the kubelet ignores and quotes no password while reading 10,000 odd pull secrets", (t) => {
  t.diagnostic(`SEED=${from}`);
  fuzzDocuments(10_000, from);
});

test("never throws and quotes no content while reading 10,000 damaged journals or deciding on them", (t) => {
  t.diagnostic(`SEED=${from}`);
  fuzzJournals(10_000, from);
});

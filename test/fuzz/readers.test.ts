import test from "node:test";
import { fuzzDocuments, fuzzJournals } from "./readers.ts";

const from = Number(process.env["SEED"] ?? Date.now() % 1e9);

test("H24: 10,000 odd pull secrets: no reader throws, none that is accepted is dropped by the kubelet, no line tells a password", (t) => {
  t.diagnostic(`SEED=${from}`);
  fuzzDocuments(10_000, from);
});

test("10,000 damaged journals: none makes the agent throw, now or when it decides, and none is told", (t) => {
  t.diagnostic(`SEED=${from}`);
  fuzzJournals(10_000, from);
});

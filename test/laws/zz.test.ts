import { readFileSync } from "node:fs";
import { test } from "node:test";
import { brokenLaw } from "./run.ts";
test("plan", () => {
  const traces: string[] = [];
  const b = brokenLaw(JSON.parse(readFileSync("/tmp/plan.json", "utf8")), { traces });
  console.log(b?.message, "\n", traces.join("\n").slice(0, 9000));
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { drawSteps } from "./rollout-picture.ts";

test("draws a row for each node, in rollout order, with bars as long as their steps", () => {
  const steps = { written: 1, job: 2, healthz: 3, report: 8 };
  const svg = drawSteps([
    { node: "later", order: 0.5, ...steps },
    { node: "sooner", order: 0, ...steps },
  ]);
  assert.ok(svg.indexOf(">sooner<") < svg.indexOf(">later<"));
  const widths = [...svg.matchAll(/width="([\d.]+)" height="20"/g)].map(([, width]) =>
    Number(width),
  );
  assert.equal(widths.length, 8);
  const [first = 0, second = 0, , last = 0] = widths;
  assert.ok(Math.abs(first - second) < 0.2 && Math.abs(last - 5 * second) < 1, `${widths}`);
});

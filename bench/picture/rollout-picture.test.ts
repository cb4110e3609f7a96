import assert from "node:assert/strict";
import { test } from "node:test";
import { drawSteps } from "./rollout-picture.ts";

test("each node has a row, in the order of their turns, with bars as long as their steps", () => {
  const steps = { started: 1, written: 2, job: 3, healthz: 4, ready: 5 };
  const svg = drawSteps([
    { node: "later", grant: 0.5, ...steps, available: 10 },
    { node: "sooner", grant: 0, ...steps, available: 10 },
  ]);
  assert.ok(svg.indexOf(">sooner<") < svg.indexOf(">later<"));
  const widths = [...svg.matchAll(/width="([\d.]+)" height="20"/g)].map(([, width]) =>
    Number(width),
  );
  assert.equal(widths.length, 12);
  const [first = 0, second = 0, , , , last = 0] = widths;
  assert.ok(Math.abs(first - second) < 0.2 && Math.abs(last - 5 * second) < 1, `${widths}`);
});

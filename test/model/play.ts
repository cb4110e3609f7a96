/** Plays many plans. Shrinks a plan that breaks a law to the smallest such plan, and reports this
 * plan with its trace. */
import type { Drive } from "./product.ts";
import { broken, newWorld, planOf, shrink, type Plan } from "./schedules.ts";

/**
 * Plays the plan. If it breaks a law, throws an error with the smallest plan that breaks this law.
 */
function play(plan: Plan, driver: Drive): void {
  const first = broken(plan, driver);
  if (first === undefined) return;
  const small = shrink(plan, first.law, driver);
  const world = newWorld(small, true);
  const last = broken(small, driver, world) ?? first;
  const trace = world.trace.slice(-60).join("\n");
  throw new Error(`${last.message}\n${JSON.stringify(small)}\n${trace}`);
}

/** Plays the plans of `count` seeds, beginning with `from`. */
export function playAll(from: number, count: number, driver: Drive, plans = planOf): void {
  for (let seed = from; seed < from + count; seed++) play(plans(seed), driver);
}

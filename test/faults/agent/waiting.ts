/** Waiting for what other processes do. */
import { setTimeout as sleep } from "node:timers/promises";

/** Awaits a condition; answers whether it came true in time. */
export async function inTime(
  condition: () => Promise<boolean> | boolean,
  within = 15_000,
): Promise<boolean> {
  const deadline = performance.now() + within;
  while (performance.now() < deadline) {
    if (await condition()) return true;
    await sleep(20);
  }
  return false;
}

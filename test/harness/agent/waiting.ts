/** Waits for other processes. */
import { Hopeless, until } from "#test/cluster/await.ts";

/**
 * Waits for a condition, and returns whether it became true in time. A condition that throws ends
 * the wait with its error.
 */
export async function inTime(
  condition: () => Promise<boolean> | boolean,
  within = 15_000,
): Promise<boolean> {
  const probe = async () => {
    try {
      return await condition();
    } catch (cause) {
      throw new Hopeless("the condition failed", { cause });
    }
  };
  try {
    return await until("it comes true", probe, { timeout: within, every: 20 });
  } catch (error) {
    if (error instanceof Hopeless) throw error.cause;
    return false;
  }
}

/** One line of a watch. */

/**
 * The event of a line. A line that is no JSON is an error that does not quote it, as the parser's
 * own would: it may hold a Secret.
 */
export function eventOf<T>(line: string): T {
  try {
    return JSON.parse(line) as T;
  } catch {
    throw new Error("a line of the watch is not JSON");
  }
}

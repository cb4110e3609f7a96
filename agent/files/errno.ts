/** Whether the operating system refused with this code, such as ENOENT. */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

/** Returns what `call` returns, or undefined if it fails with this code. */
export function ignoring<T>(code: string, call: () => T): T | undefined {
  try {
    return call();
  } catch (error) {
    if (hasCode(error, code)) return undefined;
    throw error;
  }
}

/** An error of ours. Its message names files, units and calls, never a value. */
export class OwnError extends Error {}

/**
 * Describes an error without anything that may be a credential. Our own messages and the operating
 * system's (a call and a path) are shown whole; of any other error, only its class and place,
 * because V8's messages quote the text that could not be parsed.
 */
export function describe(error: unknown): string {
  if (!(error instanceof Error)) return "not an Error";
  if (error instanceof OwnError || "syscall" in error) return error.message;
  const place = /([\w.-]+:\d+:\d+)\)?$/m.exec(error.stack?.replace(error.message, "") ?? "")?.[1];
  return place === undefined ? error.name : `${error.name} at ${place}`;
}

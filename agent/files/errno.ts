/** Whether the operating system refused with this code, such as ENOENT. */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

/** What `call` answers; undefined if it fails with this code. */
export function unless<T>(code: string, call: () => T): T | undefined {
  try {
    return call();
  } catch (error) {
    if (hasCode(error, code)) return undefined;
    throw error;
  }
}

/** One of ours: its message names files, units and calls, and holds no value. */
export class OwnError extends Error {}

/**
 * Says an error without what may be a credential in it: a message of ours, or the operating
 * system's, which holds a call and a path; of any other error the class and the place. V8's own
 * messages quote the text that could not be parsed, or the name of a property.
 */
export function describe(error: unknown): string {
  if (!(error instanceof Error)) return "not an Error";
  if (error instanceof OwnError || "syscall" in error) return error.message;
  const place = /([\w.-]+:\d+:\d+)\)?$/m.exec(error.stack?.replace(error.message, "") ?? "")?.[1];
  return place === undefined ? error.name : `${error.name} at ${place}`;
}

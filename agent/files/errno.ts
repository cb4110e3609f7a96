/** Whether the operating system reported this code, such as ENOENT. */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

/** Returns the result of `call`, or undefined if it fails with this code. */
export function ignoring<T>(code: string, call: () => T): T | undefined {
  try {
    return call();
  } catch (error) {
    if (hasCode(error, code)) return undefined;
    throw error;
  }
}

/** An error of ours. Its message contains names of files, units and calls, never a value. */
export class OwnError extends Error {}

/**
 * Describes an error without anything that might be a credential. Our own messages, and those of
 * the operating system (a call and a path), are shown in full. For other errors, only the class and
 * the place are shown, because V8 quotes the text that it could not parse.
 */
export function describe(error: unknown): string {
  if (!(error instanceof Error)) return "not an Error";
  if (error instanceof OwnError || "syscall" in error) return error.message;
  const place = /([\w.-]+:\d+:\d+)\)?$/m.exec(error.stack?.replace(error.message, "") ?? "")?.[1];
  return place === undefined ? error.name : `${error.name} at ${place}`;
}

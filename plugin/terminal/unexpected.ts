/** Prints an error that no command expects, which is a bug in our code, in one line. */

/**
 * The error's kind, its code and its place in our code. Its message is left out, because it may
 * quote a pull secret.
 */
export function unexpectedLine(error: unknown): string {
  const { name = typeof error, code, stack = "" } = (error ?? {}) as Partial<NodeJS.ErrnoException>;
  const [, place = "an unknown place"] = /([^/\\( ]+:\d+:\d+)\)?$/m.exec(stack) ?? [];
  const kind = code === undefined ? name : `${name} ${code}`;
  return `unexpected ${kind} at ${place}: report this line, and what kubectl pull-secret version prints`;
}

/** Describes in one line an error that no command expects. Such an error is a bug in our code. */

/**
 * The error's kind, its code and its place in our code. We leave out the message, because it can
 * quote a pull secret.
 */
export function unexpectedLine(error: unknown): string {
  const { name = typeof error, code, stack = "" } = (error ?? {}) as Partial<NodeJS.ErrnoException>;
  const [, place = "an unknown place"] = /([^/\\( ]+:\d+:\d+)\)?$/m.exec(stack) ?? [];
  const kind = code === undefined ? name : `${name} ${code}`;
  return `unexpected ${kind} at ${place}: report this line, and what kubectl pull-secret version prints`;
}

/** Whether a revision withdraws a whole source while others stay. Pure. */

/**
 * True when a source supplied a registry before, supplies none after, and is not among those that
 * `remain`: one whose entries another source overrides has taken nothing back. Both texts are JSON,
 * registry → source, as global-pull-secret holds them. A malformed one supplies nothing.
 */
export function takesBack(
  before: string | undefined,
  after: string | undefined,
  remain: readonly string[],
): boolean {
  const left = new Set<unknown>([...suppliers(after), ...remain]);
  return [...suppliers(before)].some((source) => !left.has(source));
}

function suppliers(sources: string | undefined): ReadonlySet<unknown> {
  try {
    return new Set(Object.values(JSON.parse(sources ?? "{}") as object));
  } catch {
    return new Set();
  }
}

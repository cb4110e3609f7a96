/**
 * Whether an object already says all that we declare, so that an apply would change nothing and need not be sent. What
 * others or the API server's defaults added does not count, and an empty list may come back as nothing or as null.
 */
export function contains(live: unknown, declared: unknown): boolean {
  if (Array.isArray(declared)) {
    if (!Array.isArray(live)) return declared.length === 0 && (live === undefined || live === null);
    return live.length === declared.length && declared.every((item, index) => contains(live[index], item));
  }
  if (typeof declared === "object" && declared !== null) {
    if (typeof live !== "object" || live === null) return Object.keys(declared).length === 0 && live === undefined;
    return Object.entries(declared).every(
      ([key, value]) =>
        value === undefined ||
        (Object.hasOwn(live, key)
          ? contains((live as Record<string, unknown>)[key], value)
          : contains(undefined, value)),
    );
  }
  return live === declared;
}

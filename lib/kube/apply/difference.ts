/**
 * True if an object already has everything that we declare, so an apply could only remove fields
 * that an earlier apply declared. Additions by others and by the API server's defaults do not
 * count. The API server can return an empty list as null, or leave the list out.
 */
export function contains(live: unknown, declared: unknown): boolean {
  return differing(live, declared).length === 0;
}

/**
 * How to compare lists: item by item (`exact`), or each declared item with the live item of the
 * same name (`named`). With `named`, more items in the live list are not a difference.
 */
type Lists = "exact" | "named";

/**
 * Paths of the declared fields that are absent or different in `live`, such as
 * `spec.template.spec.tolerations`. Never a value.
 */
export function differing(
  live: unknown,
  declared: unknown,
  lists: Lists = "exact",
  path = "",
): string[] {
  if (Array.isArray(declared)) {
    if (!Array.isArray(live)) return isNothing(live) && declared.length === 0 ? [] : [path];
    if (lists === "named" && declared.every((item) => keyOf(item) !== undefined))
      return declared.flatMap((item) => {
        const same = live.find((candidate) => keyOf(candidate) === keyOf(item));
        return differing(same, item, lists, `${path}[${keyOf(item)}]`);
      });
    if (live.length !== declared.length) return [path];
    return declared.flatMap((item, index) =>
      differing(live[index], item, lists, `${path}[${index}]`),
    );
  }
  if (typeof declared === "object" && declared !== null) {
    const entries = Object.entries(declared).filter(([, value]) => value !== undefined);
    if (typeof live !== "object" || live === null)
      return entries.length === 0 && live === undefined ? [] : [path];
    return entries.flatMap(([key, value]) => {
      const liveValue = Object.hasOwn(live, key)
        ? (live as Record<string, unknown>)[key]
        : undefined;
      return differing(liveValue, value, lists, path === "" ? key : `${path}.${key}`);
    });
  }
  return live === declared ? [] : [path];
}

const isNothing = (value: unknown) => value === undefined || value === null;

/** The key by which the API server merges lists of containers, variables, volumes and mounts. */
function keyOf(item: unknown): string | undefined {
  const { mountPath, name } = (item ?? {}) as { mountPath?: string; name?: string };
  return mountPath ?? name;
}

/** Values that somebody else's API server answered, and that may be of any kind. Pure. */

type Fields = Readonly<Record<string, unknown>>;

/** The fields of an object; none of anything else. */
export function fields(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

/** The items of a list, as fields; none of anything else. */
export const list = (value: unknown): readonly Fields[] =>
  Array.isArray(value) ? value.map((one: unknown) => fields(one)) : [];

/** Reads unknown values, such as objects that another program wrote. Pure. */

export type Fields = Readonly<Record<string, unknown>>;

/** True for an object that is not a list. */
export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The fields of `value` if it is an object, otherwise none. */
export const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {});

/** The items of `value` if it is a list, otherwise none. Each item is read as an object. */
export const itemsOf = (value: unknown): readonly Fields[] =>
  Array.isArray(value) ? value.map(fieldsOf) : [];

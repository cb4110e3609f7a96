/**
 * A rule for labels and annotations in admission policies. Other programs act on these fields: they
 * select objects by labels, and run hooks that annotations name.
 */

/**
 * Keys that the request is allowed to set. If a record is given, each key can only get the record's
 * value.
 */
type Ours = readonly string[] | Readonly<Record<string, string>>;

const text = (one: string) => `'${one}'`;
const list = (keys: readonly string[]) => `[${keys.map(text).join(", ")}]`;

/**
 * A CEL expression: in this field, the request itself sets only keys of `ours`. Other keys must
 * stay as in the old object. But mutating admission is allowed to set any key. In a policy,
 * `object` is the result of admission, so only `managedFields` shows which changes the request
 * itself made: the API server records the request's changes before it calls mutating admission, and
 * does not record the changes of admission.
 *
 * A client can rewrite `managedFields`, but the API server then adds the keys that the same request
 * changes. If a client empties `managedFields`, the API server records nothing, so then no key
 * outside `ours` is allowed to differ, whoever changed it.
 */
export function setsOnly(field: "labels" | "annotations", ours: Ours): string {
  const now = `dyn(object).metadata.?${field}`;
  const before = `(oldObject == null ? optional.none() : dyn(oldObject).metadata.?${field})`;
  const managed = "dyn(object).metadata.?managedFields.orValue([])";
  return `${now}.orValue({}).all(k, ${isOurs(ours, now)}${before}[?k] == ${now}[?k] ||
${managed} != [] && !${managed}.exists(m,
  m.?fieldsV1[?'f:metadata'][?'f:${field}'][?('f:' + k)].hasValue()))`;
}

/** A CEL expression: the new object has all keys of the old one, except keys of `ours`. */
export function removesOnly(field: "labels" | "annotations", ours: readonly string[]): string {
  const known = ours.length > 0 ? `k in ${list(ours)} || ` : "";
  return `dyn(oldObject).metadata.?${field}.orValue({}).all(k,
${known}k in dyn(object).metadata.?${field}.orValue({}))`;
}

function isOurs(ours: Ours, now: string): string {
  if (isList(ours)) return ours.length > 0 ? `k in ${list(ours)} || ` : "";
  const pairs = Object.entries(ours).map(([key, value]) => `${text(key)}: ${text(value)}`);
  return `{${pairs.join(", ")}}[?k] == ${now}[?k] || `;
}

const isList = (ours: Ours): ours is readonly string[] => Array.isArray(ours);

/**
 * Rules for metadata in admission policies. Other programs act on these fields: they select objects
 * by labels, run hooks that annotations name, and delete objects with their owner. A finalizer
 * blocks a deletion.
 */

/**
 * Keys that the request is allowed to set. If a record is given, each key can only get the record's
 * value.
 */
type Ours = readonly string[] | Readonly<Record<string, string>>;

const text = (content: string) => `'${content}'`;
const list = (keys: readonly string[]) => `[${keys.map(text).join(", ")}]`;

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";
/** The place of metadata in an object. A template of pods has metadata of its own. */
type Place = readonly string[];
const ofObject: Place = ["metadata"];

const before = (field: string, place = ofObject) =>
  `(oldObject == null ? optional.none() : dyn(oldObject).${place.join(".")}.?${field})`;
const now = (field: string, place = ofObject) => `dyn(object).${place.join(".")}.?${field}`;

/** A CEL expression: the field is unchanged. In a new object it must be absent. */
export const unchanged = (field: "ownerReferences" | "finalizers"): string =>
  `${before(field)} == ${now(field)}`;

/** A CEL expression: owners and finalizers are unchanged. In a new object they must be absent. */
export const sameOwners = `${unchanged("ownerReferences")} && ${unchanged("finalizers")}`;

/**
 * A CEL list: the keys of this field that the request itself sets, except `ours`. Other keys must
 * stay as in the old object. But mutating admission is allowed to set any key. In a policy,
 * `object` is the result of admission, so only `managedFields` shows which changes the request
 * itself made: the API server records the request's changes before it calls mutating admission, and
 * does not record the changes of admission. One change of a request is not recorded: if an apply
 * names kubectl as its manager, the API server (1.36.3) rewrites the annotation `lastApplied` after
 * it has made the record.
 *
 * A client can rewrite `managedFields`, but the API server then adds the keys that the same request
 * changes. If a client empties `managedFields`, the API server records nothing, so then no key
 * outside `ours` is allowed to differ, whoever changed it.
 *
 * If another client has set a key earlier, the record does not show whether this request or
 * admission has changed the key now. So admission must not change keys that a client has set.
 */
export function keysSet(
  field: "labels" | "annotations",
  ours: Ours,
  place: Place = ofObject,
): string {
  const managed = "dyn(object).metadata.?managedFields.orValue([])";
  const notKubectls = field === "annotations" ? `k != '${lastApplied}' && ` : "";
  const recorded = [...place, field].map((name) => `[?'f:${name}']`).join("");
  const [was, is] = [before(field, place), now(field, place)];
  return `${is}.orValue({}).filter(k, !(${isOurs(ours, is)}${was}[?k] == ${is}[?k] ||
${notKubectls}${managed} != [] && !${managed}.exists(m,
  m.?fieldsV1${recorded}[?('f:' + k)].hasValue())))`;
}

function isOurs(ours: Ours, live: string): string {
  if (isList(ours)) return ours.length > 0 ? `k in ${list(ours)} || ` : "";
  const pairs = Object.entries(ours).map(([key, value]) => `${text(key)}: ${text(value)}`);
  return `{${pairs.join(", ")}}[?k] == ${live}[?k] || `;
}

const isList = (ours: Ours): ours is readonly string[] => Array.isArray(ours);

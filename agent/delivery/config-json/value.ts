/**
 * One value of config.json, in the two views that the agent needs: what is written back, in which a
 * number keeps the text that it had (1.0, 12345678901234567890), and what the kubelet takes from an
 * entry.
 */
import { credentialFields, readFields, treeOf } from "#pullsecret/kubelet/kubelet.ts";
import { Fault, type Tree } from "#pullsecret/json/text.ts";
import { valuesOf } from "#pullsecret/json/values.ts";

/** A JSON value that JSON.stringify writes as it was; a number is `JSON.rawJSON`. */
export type RawJson = unknown;

/** JSON.rawJSON is in Node 22, but not yet in the compiler's library. */
const json = JSON as typeof JSON & {
  rawJSON(text: string): object;
  isRawJSON(value: unknown): boolean;
};

/** Thirty times what a pull secret needs; recursion over the values ends long after. */
const mostLevels = 100;

/** A document's values as they are written back, and why they should not be, if so. */
export function keep(tree: Tree): ReturnType<typeof valuesOf<object>> {
  return valuesOf(tree, { numeral: ({ text }) => json.rawJSON(text), depth: mostLevels });
}

/** The value of a JSON text that JSON.stringify made of one. */
export function valueOf(text: string): RawJson {
  const tree = treeOf(Buffer.from(text));
  return tree instanceof Fault ? null : keep(tree).value;
}

/** User and password that the kubelet takes from an entry, each byte as one character. */
export function credentialOf(entry: RawJson): readonly [username: string, password: string] {
  const read = readFields(membersOf(entry));
  return "password" in read
    ? [read.username.toString("latin1"), read.password.toString("latin1")]
    : ["", ""];
}

/** Whether the kubelet's decoder accepts the entry; if not, it drops the whole file. */
export function isReadable(entry: RawJson): boolean {
  return entry === null || (isObject(entry) && "password" in readFields(membersOf(entry)));
}

/**
 * An entry as we write entries. One that says more than a user and a password is returned as it is.
 */
export function plain(entry: RawJson): RawJson {
  if (!isObject(entry) || Object.keys(entry).some((name) => !credentialFields.has(name)))
    return entry;
  const auth = Buffer.from(credentialOf(entry).join(":"), "latin1").toString("base64");
  return { auth };
}

export function membersOf(value: RawJson): [name: string, value: RawJson][] {
  return isObject(value) ? Object.entries(value) : [];
}

/** Whether a value is a JSON object; a raw number is an object to JavaScript only. */
export function isObject(value: RawJson): value is Record<string, RawJson> {
  return (
    typeof value === "object" && value !== null && !Array.isArray(value) && !json.isRawJSON(value)
  );
}

export function isStringMap(value: RawJson): boolean {
  return (
    value === null ||
    (isObject(value) &&
      Object.values(value).every((one) => one === null || typeof one === "string"))
  );
}

/**
 * Judges the Secret of a source: its type, its key and its document. The controller and every
 * command of the plugin use this function, so that they give the same answers.
 */
import { Buffer } from "node:buffer";
import { messagesOf, type Catalogue } from "#contract/catalogue.ts";
import { secretKeys, secretType } from "#contract/names.ts";
import { isObject, readJson } from "../json/json.ts";
import type { NamedSource } from "../problems/findings.ts";
import { problem, type Problem } from "../problems/problems.ts";
import { parse, type Parsed } from "./parse.ts";

/** The parts of a source's Secret that are judged. */
export type SecretParts = Readonly<{
  type: string | undefined;
  /** The bytes under `.dockerconfigjson`. Undefined if the Secret does not have this key. */
  document: Uint8Array | undefined;
}>;

/** The parts of a Secret as the API server returns it. */
export function partsOf(
  secret: Readonly<{ type?: string; data?: Readonly<Record<string, string>> }>,
): SecretParts {
  const value = secret.data?.[secretKeys.document];
  return {
    type: secret.type,
    document: value === undefined ? undefined : Buffer.from(value, "base64"),
  };
}

/** Kind → code, problem, action. `{}` stands for the type. Part of the controller's catalogue. */
export const secretProblems = {
  wrongType: [
    "GPS301",
    "type is {}",
    "set type: kubernetes.io/dockerconfigjson (a type cannot be changed, so recreate the Secret)",
  ],
  noDocument: ["GPS302", "is missing", "put the pull secret under this key"],
} as const satisfies Catalogue;

const { problem: secretProblem } = messagesOf(secretProblems);

/**
 * The entries of a source, or every reason why it is refused. The document of a Secret of another
 * type is not read. The type of an original does not matter, because the original belongs to
 * another product.
 */
export function judgeSecret({ type, document }: SecretParts, source: NamedSource): Parsed {
  if (source.role === "additional" && type !== secretType)
    return refused(secretProblem("wrongType", source.name, "type", type ?? "missing"));
  if (document === undefined)
    return refused(secretProblem("noDocument", source.name, `data["${secretKeys.document}"]`));
  const parsed = parse(document, source);
  if (!parsed.ok || source.role === "additional") return parsed;
  // The kubelet would find no credentials in such a file. Such a document is probably a mistake,
  // and would remove the original's credentials from the nodes.
  if (authsIn(document) === undefined) return refused(problem("noAuths", source.name, "auths"));
  // All entries are empty, as in the file of a credential helper. The kubelet would nevertheless
  // try these entries.
  const isEmpty = ({ credential }: (typeof parsed.entries)[number]) =>
    credential.username === "" && credential.password === "";
  return parsed.entries.length > 0 && parsed.entries.every(isEmpty)
    ? refused(problem("nothingLeft", source.name, "auths"))
    : parsed;
}

const refused = (...problems: readonly Problem[]): Parsed => ({
  ok: false,
  problems,
  warnings: [],
  isIdle: false,
});

/** True if the Secret has a valid document without entries. It counts as deleted. */
export function isEmptied({ type, document }: SecretParts): boolean {
  const auths = document && authsIn(document);
  return type === secretType && auths !== undefined && Object.keys(auths).length === 0;
}

/**
 * The document's list of entries. `{"auths":{}}` has an empty list, which is valid. `null`, `{}`,
 * `{"auths":null}` and Docker's oldest form, without `auths`, have none.
 */
function authsIn(bytes: Uint8Array): object | undefined {
  const read = readJson(bytes);
  const auths = read.ok && isObject(read.value) ? read.value["auths"] : undefined;
  return isObject(auths ?? null) ? (auths as object) : undefined;
}

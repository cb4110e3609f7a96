/**
 * One member of `auths`: its credential, with everything that is wrong or odd about it. The key is
 * key.ts's part.
 */
import { isUtf8 } from "node:buffer";
import { Credential, decodeAuth } from "./auth.ts";
import { fold } from "../json/fold.ts";
import { isObject, type Json, type JsonObject } from "../json/json.ts";
import type { Steps } from "../problems/keypath.ts";
import type { Report } from "../problems/report.ts";

/** Fields that some reader decodes into a string: another type makes it drop the whole file. */
const fieldNames = [
  "auth",
  "username",
  "password",
  "email",
  "identitytoken",
  "registrytoken",
] as const;
const stringFields: ReadonlyMap<string, (typeof fieldNames)[number]> = new Map(
  fieldNames.map((name) => [name, name]),
);
type Fields = Partial<Record<(typeof fieldNames)[number], string>>;
/** What only Docker clients use, and lose nothing by. */
const silentlyDropped: ReadonlySet<string> = new Set(["email", "serveraddress"]);

/**
 * The credential of one entry; `undefined` when a problem was reported that leaves nothing to keep.
 */
export function readCredential(value: Json, path: Steps, report: Report): Credential | undefined {
  if (value === null) {
    // The kubelet takes null for an empty entry, which still matches and is tried.
    report.dislike("notObject", path);
    return new Credential("", "");
  }
  if (!isObject(value)) {
    report.refuse("notObject", path);
    return undefined;
  }
  const before = report.problems.length;
  const fields = readFields(value, path, report);
  if (report.problems.length > before) return undefined;
  const token = fields.identitytoken !== undefined ? "identitytoken" : "registrytoken";
  const { identitytoken = "" } = fields;
  if (fields[token] !== undefined && fields.auth === undefined && fields.username === undefined) {
    report.dislike("tokenOnly", path, token);
    // CRI-O may live by an identity token; no reader of this file knows registry tokens.
    if (fields.password === undefined) {
      return identitytoken === "" ? new Credential("", "") : Credential.ofToken(identitytoken);
    }
  }
  const credential =
    fields.auth === undefined
      ? fromPair(fields, path, report)
      : fromAuth(fields.auth, path, report);
  if (credential === undefined) return undefined;
  const emptyPassword = credential.username !== "" && credential.password === "";
  if (fields[token] !== undefined) {
    report.warn(emptyPassword ? "tokenBesideEmpty" : "dropped", [...path, token], token);
  } else if (emptyPassword)
    report.warn("emptyPassword", fields.auth === undefined ? path : [...path, "auth"]);
  judge(credential, fields, path, report);
  return credential;
}

/**
 * Whether a member of `auths` is what docker login leaves behind when a credential helper keeps the
 * credential: nothing, or an e-mail address.
 */
export function isMarker(value: Json): boolean {
  return (
    isObject(value) &&
    Object.entries(value).every(
      ([name, text]) => silentlyDropped.has(name) && typeof text === "string",
    )
  );
}

/** The entry's known fields; null and the empty string count as absent, as in the kubelet. */
function readFields(entry: JsonObject, path: Steps, report: Report): Fields {
  const fields: Fields = {};
  for (const [name, value] of Object.entries(entry)) {
    const known = stringFields.get(name) ?? stringFields.get(fold(name));
    if (known === undefined) {
      if (!silentlyDropped.has(name)) report.warn("dropped", [...path, name], "this field");
    } else if (known !== name) report.refuse("letterCase", [...path, name], known);
    else if (typeof value === "string") {
      if (value !== "") fields[known] = value;
    } else if (value !== null) report.refuse("notString", [...path, name]);
  }
  return fields;
}

function fromPair(
  { username = "", password = "" }: Fields,
  path: Steps,
  report: Report,
): Credential | undefined {
  if (!username.includes(":")) return new Credential(username, password);
  report.refuse("colonInUser", [...path, "username"]);
  return undefined;
}

function fromAuth(auth: string, path: Steps, report: Report): Credential | undefined {
  const decoded = decodeAuth(auth);
  if (decoded === "not base64") report.refuse("notBase64", [...path, "auth"]);
  else if (decoded === "no colon") report.refuse("noColon", [...path, "auth"]);
  // The credential travels to the runtime as a protobuf string, which must be UTF-8: such a pull
  // always fails.
  else if (!isUtf8(decoded.username) || !isUtf8(decoded.password))
    report.refuse("notText", [...path, "auth"]);
  else
    return new Credential(
      decoded.username.toString("utf8"),
      decoded.password.toString("utf8"),
      decoded.encoded,
    );
  return undefined;
}

/** No character of Unicode's class Cc, which RFC 7617 forbids in a user name. */
const noControls = /^[ -~\u00a0-\uffff]*$/;
/**
 * Tab and line breaks pass in a password: a cloud's JSON key file, used as one, is full of them.
 */
const noOddControls = /^[\t\n\r -~\u00a0-\uffff]*$/;

function judge(credential: Credential, fields: Fields, path: Steps, report: Report): void {
  const { username, password } = credential;
  const at = fields.auth === undefined ? path : [...path, "auth"];
  // containerd and CRI-O take a credential without user for none.
  if (username === "") report.dislike("noUser", at);
  if (!noControls.test(username)) report.dislike("control", at, "user name");
  else if (username.trim() !== username) report.warn("whiteSpace", at, "user name");
  if (!noOddControls.test(password)) report.dislike("control", at, "password");
  else if (password.trim() !== password) report.warn("whiteSpace", at, "password");
  if (fields.auth === undefined) return;
  if (fields.username !== undefined && fields.username !== username)
    report.warn("disagree", at, "username");
  if (fields.password !== undefined && fields.password !== password)
    report.warn("disagree", at, "password");
}

/**
 * Reads one member of `auths`: returns its credential, and reports everything that is wrong or odd
 * about the member. key.ts checks the key.
 */
import { isUtf8 } from "node:buffer";
import { Credential, decodeAuth } from "./auth.ts";
import { fold, isObject, type Json, type JsonObject } from "../json/json.ts";
import type { Steps } from "../problems/keypath.ts";
import type { Findings } from "../problems/findings.ts";

/** If one of these fields is not a string, at least one program rejects the whole file. */
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
/** Fields that only Docker clients use. Even Docker clients do not need them. */
const silentlyDropped: ReadonlySet<string> = new Set(["email", "serveraddress"]);

/** The credential of one entry; `undefined` if a reported problem leaves nothing to keep. */
export function readCredential(
  value: Json,
  path: Steps,
  findings: Findings,
): Credential | undefined {
  if (value === null) {
    // The kubelet reads null as an empty entry. Such an entry still matches, and the kubelet tries
    // it.
    return findings.useless("notObject", path) ? undefined : new Credential("", "");
  }
  if (!isObject(value)) {
    findings.refuse("notObject", path);
    return undefined;
  }
  const before = findings.problems.length;
  const fields = readFields(value, path, findings);
  if (findings.problems.length > before) return undefined;
  const token = fields.identitytoken !== undefined ? "identitytoken" : "registrytoken";
  const { identitytoken = "" } = fields;
  if (fields[token] !== undefined && fields.auth === undefined && fields.username === undefined) {
    const isTokenOnly = fields.password === undefined;
    if (!isTokenOnly) findings.dislike("tokenOnly", path, token);
    else if (findings.useless("tokenOnly", path, token)) return undefined;
    // CRI-O might depend on an identity token. No program that reads this file uses registry
    // tokens.
    if (isTokenOnly) {
      return identitytoken === "" ? new Credential("", "") : Credential.ofToken(identitytoken);
    }
  }
  const credential =
    fields.auth === undefined
      ? fromPair(fields, path, findings)
      : fromAuth(fields.auth, path, findings);
  if (credential === undefined) return undefined;
  if (credential.username === "" && credential.password === "") {
    const at = fields.auth === undefined ? path : [...path, "auth"];
    return findings.useless("noUser", at) ? undefined : credential;
  }
  const emptyPassword = credential.password === "";
  if (fields[token] !== undefined) {
    findings.warn(emptyPassword ? "tokenBesideEmpty" : "dropped", [...path, token], token);
  } else if (emptyPassword)
    findings.warn("emptyPassword", fields.auth === undefined ? path : [...path, "auth"]);
  checkCredential(credential, fields, path, findings);
  return credential;
}

/**
 * Whether a member of `auths` is a marker, which docker login leaves behind when a credential
 * helper stores the credential. A marker is empty, or has only fields such as an e-mail address.
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
function readFields(entry: JsonObject, path: Steps, findings: Findings): Fields {
  const fields: Fields = {};
  for (const [name, value] of Object.entries(entry)) {
    const fieldName = stringFields.get(name) ?? stringFields.get(fold(name));
    if (fieldName === undefined) {
      if (!silentlyDropped.has(name)) findings.warn("dropped", [...path, name], "this field");
    } else if (fieldName !== name) findings.refuse("letterCase", [...path, name], fieldName);
    else if (typeof value === "string") {
      if (value !== "") fields[fieldName] = value;
    } else if (value !== null) findings.refuse("notString", [...path, name]);
  }
  return fields;
}

function fromPair(
  { username = "", password = "" }: Fields,
  path: Steps,
  findings: Findings,
): Credential | undefined {
  if (!username.includes(":")) return new Credential(username, password);
  findings.leaveOut("colonInUser", [...path, "username"]);
  return undefined;
}

function fromAuth(auth: string, path: Steps, findings: Findings): Credential | undefined {
  const decoded = decodeAuth(auth);
  if (decoded === "not base64") findings.refuse("notBase64", [...path, "auth"]);
  else if (decoded === "no colon") findings.refuse("noColon", [...path, "auth"]);
  // The kubelet sends the credential to the runtime as a protobuf string, which must be UTF-8. With
  // other bytes, the pull always fails.
  else if (!isUtf8(decoded.username) || !isUtf8(decoded.password))
    findings.leaveOut("notText", [...path, "auth"]);
  else
    return new Credential(
      decoded.username.toString("utf8"),
      decoded.password.toString("utf8"),
      decoded.encoded,
    );
  return undefined;
}

/**
 * Matches a text without control characters (Unicode's class Cc), which RFC 7617 forbids in a user
 * name.
 */
const noControls = /^[ -~\u00a0-\uffff]*$/;
/**
 * Also matches tabs and line breaks, which are valid in a password. A cloud's JSON key file is full
 * of them, and people use such a file as the password.
 */
const noOddControls = /^[\t\n\r -~\u00a0-\uffff]*$/;

/**
 * Placeholders that Argo CD's Vault plugin, shells and pipelines, Helm and Go templates,
 * Bank-Vaults, vals and SOPS fill in or decrypt. Each span is bounded, because without bounds the
 * search in a password of a megabyte would take minutes.
 */
const placeholder =
  /<path:[^>]{0,200}>|\$\{[^}]{0,200}\}|\$\([A-Za-z_]\w{0,200}\)|\{\{.{0,200}\}\}|\bvault:[\w./-]{0,200}\/[\w./-]{1,200}#|\bref\+[a-z0-9]+:\/\/|ENC\[AES256/;

/**
 * A user name or password that is as a whole a shell variable, a name in brackets, what Go, Python
 * or JavaScript print for a missing value, an example's password, or a text in quotes.
 */
const emptyValue =
  /^(?:\$[A-Z][A-Z0-9_]{0,200}|<(?:[A-Z][A-Z0-9_ -]{0,200}|your[ _-][^<>]{0,200}|no value|nil)>|%!\w\((?:<nil>|MISSING)\)|None|null|undefined|changeme|"[^"]{0,200}"|'[^']{0,200}')$/;

function checkCredential(
  credential: Credential,
  fields: Fields,
  path: Steps,
  findings: Findings,
): void {
  const { username, password } = credential;
  const at = fields.auth === undefined ? path : [...path, "auth"];
  // containerd and CRI-O ignore a credential without a user name.
  if (username === "") findings.dislike("noUser", at);
  if (!noControls.test(username)) findings.dislike("control", at, "user name");
  else if (username.trim() !== username) findings.warn("whiteSpace", at, "user name");
  if (!noOddControls.test(password)) findings.dislike("control", at, "password");
  else if (password.trim() !== password) findings.warn("whiteSpace", at, "password");
  if (
    placeholder.test(`${username}:${password}`) ||
    [username, password].some((text) => emptyValue.test(text))
  )
    findings.warn("placeholder", at);
  if (fields.auth === undefined) return;
  if (fields.username !== undefined && fields.username !== username)
    findings.warn("disagree", at, "username");
  if (fields.password !== undefined && fields.password !== password)
    findings.warn("disagree", at, "password");
}

/**
 * Reads a kubeconfig that other people wrote, as data. We use only its server, its certificate
 * authority and its credential. We refuse a kubeconfig that would run a program, open a file, trust
 * any server or connect elsewhere, before we make a connection (Flux's CVE-2022-24817 was an `exec`
 * in a tenant's kubeconfig). We also refuse a kubeconfig with an unknown field, because in a later
 * version of the format, that field might have such an effect.
 */
import { Buffer } from "node:buffer";
import { createPrivateKey, X509Certificate } from "node:crypto";
import type { Steps } from "#pullsecret/problems/keypath.ts";
import type { Problem } from "#pullsecret/problems/problems.ts";
import { isFields, itemsOf, type Fields } from "#contract/fields.ts";
import { authorityExtension } from "#contract/names.ts";
import { Access, type AccessProof } from "./access.ts";
import { problemAt, type catalogue } from "./problems.ts";

export type KubeconfigRead =
  | Readonly<{ ok: true; access: Access }>
  | Readonly<{ ok: false; problems: readonly Problem[] }>;

type Kind = keyof typeof catalogue;
/** Field → why we refuse it; `read`: we use the field; null: the field has no effect here. */
type Known = Readonly<Record<string, Kind | "read" | null>>;

const top: Known = {
  apiVersion: null,
  kind: null,
  preferences: null,
  extensions: null,
  clusters: "read",
  users: "read",
  contexts: "read",
  "current-context": "read",
};
const contextFields: Known = { cluster: "read", user: "read", namespace: null, extensions: null };
const clusterFields: Known = {
  server: "read",
  "certificate-authority-data": "read",
  "tls-server-name": "read",
  "certificate-authority": "file",
  "insecure-skip-tls-verify": "insecure",
  "proxy-url": "proxy",
  "disable-compression": null,
  extensions: "read",
};
const userFields: Known = {
  token: "read",
  "client-certificate-data": "read",
  "client-key-data": "read",
  tokenFile: "file",
  "client-certificate": "file",
  "client-key": "file",
  exec: "exec",
  "auth-provider": "authProvider",
  as: "impersonation",
  "as-uid": "impersonation",
  "as-groups": "impersonation",
  "as-user-extra": "impersonation",
  username: "password",
  password: "password",
  extensions: null,
};

/** Longer than any token that an HTTP server accepts (8 KiB of headers). */
const longestToken = 16 * 1024;
const hostName = /^[A-Za-z0-9]([A-Za-z0-9.:-]{0,251}[A-Za-z0-9])?$/;

/**
 * The access that a kubeconfig's current context gives, or everything that is wrong with it.
 * `source` is its name in messages. Entries that the current context does not use are ignored.
 */
export function parseKubeconfig(value: unknown, source: string): KubeconfigRead {
  const problems: Problem[] = [];
  const refuse = (kind: Kind, ...path: Steps): undefined => {
    problems.push(problemAt(kind, source, path));
    return undefined;
  };
  const access = accessOf(value, refuse);
  return problems.length === 0 && access !== undefined
    ? { ok: true, access }
    : { ok: false, problems };
}

type Refuse = (kind: Kind, ...path: Steps) => undefined;

function accessOf(value: unknown, refuse: Refuse): Access | undefined {
  if (!isFields(value)) return refuse("notObject");
  checkFields(value, top, [], refuse);
  const named = of(value, "current-context");
  const context = entry(value, "contexts", "context", named, refuse, ["current-context"]);
  if (context === undefined) return undefined;
  checkFields(context.fields, contextFields, context.path, refuse);
  const cluster = entry(value, "clusters", "cluster", of(context.fields, "cluster"), refuse, [
    ...context.path,
    "cluster",
  ]);
  const user = entry(value, "users", "user", of(context.fields, "user"), refuse, [
    ...context.path,
    "user",
  ]);
  const place = cluster && placeOf(cluster, refuse);
  const proof = user && proofOf(user, refuse);
  return place && proof && new Access(place, proof);
}

type NamedEntry = Readonly<{ fields: Fields; path: Steps }>;

/** The only entry with that name. `from`: the path of the field that names the entry. */
function entry(
  config: Fields,
  list: string,
  member: string,
  name: unknown,
  refuse: Refuse,
  from: Steps,
): NamedEntry | undefined {
  const all = itemsOf(of(config, list));
  const named = all.filter((item) => of(item, "name") === name);
  const [first] = named;
  if (typeof name !== "string" || name === "" || named.length !== 1 || first === undefined)
    return refuse("missing", ...from);
  const path = [list, all.indexOf(first), member];
  const fields = of(first, member);
  return isFields(fields) ? { fields, path } : refuse("notObject", ...path);
}

/** Refuses fields that are not allowed. An empty text, false and null count as absent. */
function checkFields(fields: Fields, verdicts: Known, path: Steps, refuse: Refuse): void {
  for (const [name, value] of Object.entries(fields)) {
    const verdict = Object.hasOwn(verdicts, name) ? verdicts[name] : undefined;
    if (verdict === null || verdict === "read" || isNothing(value)) continue;
    if (verdict === undefined) refuse("unknownField", ...path);
    else refuse(verdict, ...path, name);
  }
}

function placeOf({ fields, path }: NamedEntry, refuse: Refuse) {
  checkFields(fields, clusterFields, path, refuse);
  const server = serverOf(of(fields, "server"));
  const authority = of(fields, "certificate-authority-data");
  const serverName = of(fields, "tls-server-name");
  const named = isNothing(serverName) || isMatch(serverName, hostName);
  if (!named) refuse("serverName", ...path, "tls-server-name");
  if (server === undefined) return refuse("server", ...path, "server");
  const name = isNothing(serverName) ? undefined : String(serverName);
  if (isNothing(authority) && wantsSystemRoots(of(fields, "extensions")))
    return { server, authority: undefined, serverName: name };
  if (!areCertificates(authority))
    return refuse("authority", ...path, "certificate-authority-data");
  return { server, authority, serverName: name };
}

/** The extension of a cluster whose certificate a public authority has signed. */
export const systemRoots = { name: authorityExtension, extension: { roots: "system" } };

/**
 * Whether the author requests the roots that this machine trusts. client-go uses them by default.
 * We do not, because a forgotten field must not make us trust a hundred public authorities.
 */
function wantsSystemRoots(extensions: unknown): boolean {
  const authoritySettings = itemsOf(extensions)
    .filter((item) => of(item, "name") === authorityExtension)
    .map((item) => of(item, "extension"));
  return (
    authoritySettings.length > 0 &&
    authoritySettings.every((setting) => isFields(setting) && of(setting, "roots") === "system")
  );
}

/** The server without a slash at its end, because the API's paths begin with a slash. */
function serverOf(value: unknown): string | undefined {
  if (typeof value !== "string" || !URL.canParse(value)) return undefined;
  const { protocol, username, password, search, hash, href } = new URL(value);
  const plain = protocol === "https:" && username + password + search + hash === "";
  return plain && !/[?#@]/.test(value) ? href.replace(/\/+$/, "") : undefined;
}

function proofOf({ fields, path }: NamedEntry, refuse: Refuse): AccessProof | undefined {
  checkFields(fields, userFields, path, refuse);
  const token = of(fields, "token");
  const certificate = of(fields, "client-certificate-data");
  const key = of(fields, "client-key-data");
  if (!isNothing(token) && !(isMatch(token, /^[\x21-\x7e]+$/) && token.length <= longestToken))
    return refuse("token", ...path, "token");
  const bearer = isNothing(token) ? {} : { token: String(token) };
  if (isNothing(certificate) && isNothing(key))
    return isNothing(token) ? refuse("noCredential", ...path) : bearer;
  if (!areCertificates(certificate) || !isKeyOf(key, certificate))
    return refuse("certificate", ...path, "client-certificate-data");
  return { ...bearer, certificate, key };
}

// The pattern must match each blank in only one way. With two ways, a megabyte of blanks takes
// minutes.
const base64 = /^[A-Za-z0-9+/\s]+(?:={1,2}\s*)?$/;
const pem = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

function areCertificates(value: unknown): value is string {
  if (!isMatch(value, base64)) return false;
  const certificates = Buffer.from(value, "base64").toString("latin1").match(pem) ?? [];
  return (
    certificates.length > 0 &&
    certificates.every((certificate) => tried(() => new X509Certificate(certificate)) !== undefined)
  );
}

function isKeyOf(value: unknown, certificate: string): value is string {
  if (!isMatch(value, base64)) return false;
  const key = tried(() => createPrivateKey(Buffer.from(value, "base64")));
  // The first certificate is the client's. The certificates after it lead to the client's
  // authority.
  const text = Buffer.from(certificate, "base64").toString("latin1").match(pem)?.[0] ?? "";
  return key !== undefined && tried(() => new X509Certificate(text).checkPrivateKey(key)) === true;
}

/**
 * The result, or undefined on any error. A decoder's error quotes its input, so the error must not
 * leave this function.
 */
function tried<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

const isNothing = (value: unknown): boolean =>
  value === undefined || value === null || value === "" || value === false;
const isMatch = (value: unknown, pattern: RegExp): value is string =>
  typeof value === "string" && pattern.test(value);
/** Own fields only: `__proto__` in YAML has no effect. */
const of = (fields: Fields, name: string): unknown =>
  Object.hasOwn(fields, name) ? fields[name] : undefined;

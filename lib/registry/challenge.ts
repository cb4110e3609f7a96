/** What a registry demands before it answers: the header WWW-Authenticate, and a token. Pure. */
import { isObject } from "#pullsecret/json/json.ts";
import { splitPort } from "#pullsecret/registry/url.ts";

export type Challenge = Readonly<{ scheme: string; parameters: ReadonlyMap<string, string> }>;

/** Matches `name`, `name=value` or `name="value"`. A name without a value begins a challenge. */
const part = /([\w!#$%&'*+.^`|~-]+)(?:[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+)))?/g;

/**
 * The challenges, with schemes and names of parameters in lower case. Leaves out parts that it
 * cannot parse.
 */
export function challengesIn(header: string): readonly Challenge[] {
  const challenges: { scheme: string; parameters: Map<string, string> }[] = [];
  for (const [, name = "", quoted, plain] of header.matchAll(part)) {
    const value = quoted?.replace(/\\(.)/g, "$1") ?? plain;
    if (value !== undefined) challenges.at(-1)?.parameters.set(name.toLowerCase(), value);
    else challenges.push({ scheme: name.toLowerCase(), parameters: new Map() });
  }
  return challenges;
}

/**
 * The token service's URL for a pull of `path`, or for a login if `path` is undefined. A pull
 * requests the challenge's scope too, as containerd does, because a registry behind a proxy can
 * have other paths. A login requests no scope, as `docker login` does, because some registries
 * challenge it with the scope of a repository that does not exist. Returns why there is no URL, if
 * the challenge names no service that may get the credential: plain HTTP is allowed only for the
 * host of a registry that is asked over plain HTTP.
 */
export function tokenService(
  root: URL,
  { parameters }: Challenge,
  path: string | undefined,
): URL | string {
  const url = urlOf(parameters.get("realm") ?? "");
  if (url === undefined || !/^https?:$/.test(url.protocol)) return "names no valid token service";
  const isPlain = root.protocol === "http:" && url.hostname === root.hostname;
  if (url.protocol === "http:" && !isPlain)
    return "names a token service without TLS, which gets no credential";
  const service = parameters.get("service");
  if (service !== undefined) url.searchParams.set("service", service);
  url.searchParams.delete("scope");
  if (path === undefined) return url;
  const challenged = (parameters.get("scope") ?? "").split(" ");
  const scopes = new Set([`repository:${path}:pull`, ...challenged]);
  for (const scope of scopes) if (scope !== "") url.searchParams.append("scope", scope);
  return url;
}

/**
 * The token in a token service's answer. Its field is `token` in older services and `access_token`
 * in OAuth 2. An answer can contain both fields.
 */
export function tokenIn(body: string): string | undefined {
  const fields = read(body);
  const token = fields["token"] || fields["access_token"];
  // The characters of RFC 6750, plus the colon. Other characters could make the header invalid.
  return typeof token === "string" && /^[\w.~+/=:-]+$/.test(token) ? token : undefined;
}

function read(body: string): Readonly<Record<string, unknown>> {
  try {
    const value = JSON.parse(body) as Parameters<typeof isObject>[0];
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** Parses a URL. Undefined if the text is not a URL, or contains a user. */
export function urlOf(text: string, base?: URL): URL | undefined {
  const url = URL.parse(text, base?.href);
  return url?.username === "" && url.password === "" ? url : undefined;
}

/**
 * The schemes to try, in this order. For a registry on this machine, we also try plain HTTP, as
 * container runtimes do.
 */
export function schemesOf(host: string, isPlain: boolean): readonly ("https" | "http")[] {
  if (isPlain) return ["http"];
  const name = splitPort(host).host.replace(/^\[|\]$/g, "");
  const isLocal = name === "localhost" || name === "::1" || /^127(?:\.\d{1,3}){3}$/.test(name);
  return isLocal ? ["https", "http"] : ["https"];
}

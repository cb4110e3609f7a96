/**
 * Checks whether a registry accepts a credential, like `docker login`: requests `/v2/`, and then a
 * token.
 */
import type { Credential } from "#pullsecret/document/auth.ts";
import { isObject } from "#pullsecret/json/json.ts";
import { dockerHubRegistry, hasWildcard, hostOf, identity } from "#pullsecret/registry/registry.ts";
import { splitPort } from "#pullsecret/registry/url.ts";

/**
 * The result for one key of a pull secret, as `-o json` prints it. The shape is stable. `notAsked`:
 * the key does not name exactly one host.
 */
export type LoginOutcome = Readonly<{
  answer: "accepts" | "refuses" | "unreachable" | "notAsked";
  why: string;
}>;

type AskedLogin = Readonly<{ registry: string; credential: Credential }>;

/**
 * Maximum number of registries to contact at the same time. A proxy might refuse more connections.
 */
const together = 8;

/**
 * Logs in with every entry. Returns the results in the order of the entries. `seconds`: the time
 * limit for all requests to one registry together.
 */
export async function logInToAll(
  logins: readonly AskedLogin[],
  seconds: number,
): Promise<readonly LoginOutcome[]> {
  const outcomes: LoginOutcome[] = [];
  const open = logins.entries();
  async function work(): Promise<void> {
    for (const [at, login] of open) outcomes[at] = await logIn(login, seconds);
  }
  await Promise.all(Array.from({ length: together }, work));
  return outcomes;
}

/**
 * Logs in with one entry. Never rejects. The result does not quote the credential or the registry's
 * answers.
 */
async function logIn({ registry, credential }: AskedLogin, seconds: number): Promise<LoginOutcome> {
  const host = hostToAsk(registry);
  if (host === undefined) return { answer: "notAsked", why: "a pattern does not name one host" };
  const signal = AbortSignal.timeout(seconds * 1000);
  let last = "";
  for (const scheme of schemesOf(host)) {
    const root = urlOf(`${scheme}://${host}/v2/`);
    if (root === undefined) return { answer: "notAsked", why: "it names no host" };
    try {
      return await handshake({ root, credential, signal });
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error;
      last = error.message;
      if (!error.withoutTls) break;
    }
  }
  return { answer: "unreachable", why: last };
}

type Handshake = Readonly<{
  root: URL;
  credential: Credential;
  signal: AbortSignal;
}>;

async function handshake(attempt: Handshake): Promise<LoginOutcome> {
  const { root, credential, signal } = attempt;
  const first = await ask({ url: root, signal });
  if (first.status === 200) return { answer: "accepts", why: "it requires no credential" };
  if (first.status !== 401) return outcomeOf(first, "/v2/");
  const challenges = challengesIn(first.challenge);
  const bearer = challenges.find(({ scheme }) => scheme === "bearer");
  if (bearer !== undefined) return await byToken(attempt, bearer);
  if (!challenges.some(({ scheme }) => scheme === "basic"))
    throw new Unreachable("asks neither for Basic nor for Bearer");
  const authorization = `Basic ${credential.encode()}`;
  return outcomeOf(await ask({ url: root, authorization, signal }), "/v2/");
}

async function byToken(attempt: Handshake, challenge: Challenge): Promise<LoginOutcome> {
  const { root, credential, signal } = attempt;
  const url = tokenService(attempt, challenge);
  const granted = await ask({ url, authorization: `Basic ${credential.encode()}`, signal });
  if (granted.status !== 200) return outcomeOf(granted, "its token service");
  const authorization = `Bearer ${tokenIn(granted.body)}`;
  return outcomeOf(await ask({ url: root, authorization, signal }), "/v2/ with a token");
}

/**
 * The token service's URL, from the challenge's realm, service and scope. Throws if the URL is not
 * valid. Accepts plain HTTP only if the registry uses plain HTTP too, and only for a token service
 * on this machine.
 */
function tokenService({ root }: Handshake, { parameters }: Challenge): URL {
  const url = urlOf(parameters.get("realm") ?? "");
  if (
    url === undefined ||
    url.username !== "" ||
    url.password !== "" ||
    !/^https?:$/.test(url.protocol)
  )
    throw new Unreachable("names no valid token service");
  const plain = root.protocol === "http:" && isLoopback(url.host);
  if (url.protocol === "http:" && !plain)
    throw new Unreachable("names a token service without TLS, which gets no credential");
  for (const name of ["service", "scope"]) {
    const value = parameters.get(name);
    if (value !== undefined) url.searchParams.set(name, value);
  }
  return url;
}

/**
 * The token in a token service's answer. Its field is `token` in older services and `access_token`
 * in OAuth 2. An answer can contain both fields.
 */
function tokenIn(body: string): string {
  const fields = read(body);
  const token = fields["token"] ?? fields["access_token"];
  // The characters of RFC 6750, plus the colon. Other characters could make the header invalid.
  if (typeof token === "string" && /^[\w.~+/=:-]+$/.test(token)) return token;
  throw new Unreachable("its token service gives no token");
}

function read(body: string): Readonly<Record<string, unknown>> {
  try {
    const value = JSON.parse(body) as Parameters<typeof isObject>[0];
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

/**
 * What an answer's status means for the credential. 429 (too many requests) means neither accepted
 * nor refused.
 */
function outcomeOf({ status }: RegistryAnswer, what: string): LoginOutcome {
  if (status === 200) return { answer: "accepts", why: "" };
  if (status === 401 || status === 403)
    return { answer: "refuses", why: `${what} answers ${status}` };
  throw new Unreachable(`${what} answers ${status}`);
}

type RegistryAnswer = Readonly<{
  status: number;
  /** The header WWW-Authenticate. Empty if there is none. */
  challenge: string;
  /** The first `longest` bytes of the body. */
  body: string;
}>;

type Question = Readonly<{
  url: URL;
  /** The Authorization header. */
  authorization?: string;
  signal: AbortSignal;
}>;

/**
 * Maximum number of redirects that we follow. A registry can redirect to a path with a slash at its
 * end, or to another version of its API. The limit ends a loop of redirects.
 */
const mostRedirects = 5;

/**
 * Maximum number of bytes that we read of an answer. The longest tokens in use have about 10 KiB.
 */
const longest = 256 * 1024;

/**
 * Sends the request. Follows redirects only to the same origin, because the pull secret names no
 * other origin, and an answer of another origin is not the registry's answer. Rejects with
 * Unreachable.
 */
async function ask({ url, authorization, signal }: Question): Promise<RegistryAnswer> {
  const headers = authorization === undefined ? {} : { authorization };
  try {
    let at = url;
    for (let redirects = 0; redirects <= mostRedirects; redirects += 1) {
      const response = await fetch(at, { headers, signal, redirect: "manual" });
      const { status } = response;
      const location = status >= 300 && status < 400 && response.headers.get("location");
      if (typeof location !== "string") {
        const challenge = response.headers.get("www-authenticate") ?? "";
        return { status, challenge, body: await beginningOf(response) };
      }
      await response.body?.cancel();
      const next = urlOf(location, at);
      if (next?.origin !== url.origin)
        throw new Unreachable("redirects to another host, which gets no credential");
      at = next;
    }
    throw new Unreachable("redirects again and again");
  } catch (error) {
    throw error instanceof Unreachable ? error : reasonOf(error);
  }
}

/** Parses a URL. Undefined if the text is not a URL. Node.js 20 has no URL.parse. */
function urlOf(text: string, base?: URL): URL | undefined {
  return URL.canParse(text, base?.href) ? new URL(text, base) : undefined;
}

async function beginningOf({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    length += chunk.length;
    if (length >= longest) break;
  }
  return Buffer.concat(chunks).subarray(0, longest).toString("utf8");
}

export class Unreachable extends Error {
  override readonly name = "Unreachable";
  /** True if the host answers, but does not speak TLS. */
  readonly withoutTls: boolean;
  constructor(why: string, withoutTls = false) {
    super(why);
    this.withoutTls = withoutTls;
  }
}

const connections: Readonly<Record<string, string>> = {
  ENOTFOUND: "DNS has no such name",
  EAI_AGAIN: "DNS does not answer",
  ECONNREFUSED: "refuses the connection",
  ECONNRESET: "ends the connection",
  UND_ERR_SOCKET: "ends the connection",
  EHOSTUNREACH: "no route to the host",
  ENETUNREACH: "no route to the host",
  ETIMEDOUT: "no answer in time",
  UND_ERR_CONNECT_TIMEOUT: "no answer in time",
};

/**
 * Finds the reason from the code of the error with which fetch failed. We do not use the error's
 * message, because it can quote the request.
 */
export function reasonOf(error: unknown): Unreachable {
  if (error instanceof Error && error.name === "TimeoutError")
    return new Unreachable("no answer in time");
  const { code = "" } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException;
  const reason = connections[code];
  if (reason !== undefined) return new Unreachable(`${reason} (${code})`);
  if (/^(?:ERR_SSL_|EPROTO)/.test(code))
    return new Unreachable(`does not speak TLS (${code})`, true);
  if (/CERT|SIGNATURE|TLS/.test(code))
    return new Unreachable(`TLS: its certificate is not trusted here (${code})`);
  return new Unreachable(`does not answer in HTTP (${code || "unknown error"})`);
}

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

/** The names that images and pull secrets use for Docker Hub. */
const dockerHub: ReadonlySet<string> = new Set(["docker.io", "index.docker.io"]);

/** The host of a key, as HOST or HOST:PORT. Undefined if the key does not name exactly one host. */
export function hostToAsk(key: string): string | undefined {
  const registry = identity(key);
  if (registry === undefined || hasWildcard(registry)) return undefined;
  const host = hostOf(registry);
  return dockerHub.has(host) ? dockerHubRegistry : host;
}

function isLoopback(host: string): boolean {
  const name = splitPort(host).host.replace(/^\[|\]$/g, "");
  return name === "localhost" || name === "::1" || /^127(?:\.\d{1,3}){3}$/.test(name);
}

/**
 * The schemes to try, in this order. For a registry on this machine, we also try plain HTTP, as
 * Docker does.
 */
export function schemesOf(host: string): readonly ("https" | "http")[] {
  return isLoopback(host) ? ["https", "http"] : ["https"];
}

/**
 * Checks whether a registry accepts a credential, like `docker login`: requests `/v2/`, and then a
 * token.
 */
import type { Credential } from "#pullsecret/document/auth.ts";
import { isObject } from "#pullsecret/json/json.ts";
import { ask, urlOf, type RegistryAnswer } from "./ask.ts";
import { challengesIn, type Challenge } from "./challenge.ts";
import { hostToAsk, isLoopback, schemesOf } from "./hosts.ts";
import { Unreachable } from "./unreachable.ts";

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

async function handshake(one: Handshake): Promise<LoginOutcome> {
  const { root, credential, signal } = one;
  const first = await ask({ url: root, signal });
  if (first.status === 200) return { answer: "accepts", why: "it requires no credential" };
  if (first.status !== 401) return outcomeOf(first, "/v2/");
  const challenges = challengesIn(first.challenge);
  const bearer = challenges.find(({ scheme }) => scheme === "bearer");
  if (bearer !== undefined) return await byToken(one, bearer);
  if (!challenges.some(({ scheme }) => scheme === "basic"))
    throw new Unreachable("asks neither for Basic nor for Bearer");
  const authorization = `Basic ${credential.encode()}`;
  return outcomeOf(await ask({ url: root, authorization, signal }), "/v2/");
}

async function byToken(one: Handshake, challenge: Challenge): Promise<LoginOutcome> {
  const { root, credential, signal } = one;
  const url = tokenService(one, challenge);
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
  const found = read(body);
  const token = found["token"] ?? found["access_token"];
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

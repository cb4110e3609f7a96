/**
 * What to ask the registries about a pull secret, and what their answers mean for its entries and
 * for images. Pure.
 */
import { createHash } from "node:crypto";
import type { Credential } from "#pullsecret/document/auth.ts";
import type { Entry } from "#pullsecret/document/parse.ts";
import { match } from "#pullsecret/kubelet/match.ts";
import { referenceOf, repositoryOf } from "#pullsecret/registry/image.ts";
import { dockerHubRegistry, hasWildcard, hostOf, identity } from "#pullsecret/registry/registry.ts";
import { splitPort } from "#pullsecret/registry/url.ts";

/**
 * What a registry answers about a credential. `Unknown`: it gave no answer, or an answer that is
 * neither.
 */
export type Verdict = Readonly<{
  answer: "Accepted" | "Denied" | "Unknown";
  /** The reason. It contains nothing that a registry sent, except a status. */
  why: string;
  /** False if the credential was not sent, because nothing requests it. */
  asked: boolean;
  /** When the answer came, as ISO 8601, if someone recorded it. */
  at?: string;
}>;

/** A pull of an image, or a login if there is no `pull`. */
export type Question = Readonly<{
  /** Equal for equal questions. */
  id: string;
  /** HOST or HOST:PORT. The only host that gets the credentials, besides its token service. */
  host: string;
  pull: Readonly<{ path: string; reference: string }> | undefined;
  /** In the order of the kubelet, until one is accepted. */
  tries: readonly Try[];
}>;

/**
 * `isNamed`: the key names the host, and is not a pattern. `isPlain`: the key says `http://`, so the
 * credential may be sent without TLS.
 */
export type Try = Readonly<{ credential: Credential; isNamed: boolean; isPlain: boolean }>;

/** A verdict for each try of a question, as far as it was tried. */
export type Answers = readonly Verdict[];

type Pull<E> = Readonly<{ image: string; tries: readonly E[]; question: Question | Verdict }>;
type Login<E> = Readonly<{ entry: E; question: Question | Verdict }>;
export type Plan<E = Entry> = Readonly<{ pulls: readonly Pull<E>[]; logins: readonly Login<E>[] }>;

export const isQuestion = (value: Question | Verdict): value is Question => "id" in value;

/** The reason for a key with a wildcard. */
export const pattern = "a pattern does not name one host";

export const cannotAsk = (why: string): Verdict => ({ answer: "Unknown", why, asked: false });

/**
 * Plans a pull of each image, and a login for each entry, because a pull is no verdict on a
 * credential if it requires none. `others`: entries with which the kubelet pulls nothing.
 */
export function planOf<E extends Entry>(
  entries: readonly E[],
  images: readonly string[],
  others: readonly E[] = [],
): Plan<E> {
  const pulls = [...new Set(images)].map((image) => pullOf(entries, image));
  const logins = [...entries, ...others].map((entry) => ({ entry, question: loginOf(entry) }));
  return { pulls, logins };
}

/** The questions of a plan, each once. */
export function questionsOf({ pulls, logins }: Plan): readonly Question[] {
  const questions = [...pulls, ...logins].flatMap(({ question }) =>
    isQuestion(question) ? [[question.id, question] as const] : [],
  );
  return [...new Map(questions).values()];
}

export type Verified<E = Entry> = Readonly<{
  /** Entries without an answer yet are missing. */
  entries: ReadonlyMap<E, Verdict>;
  /** `tries`: the entries that were tried. Images without an answer yet are missing. */
  images: readonly (Readonly<{ image: string; tries: readonly E[] }> & Verdict)[];
}>;

/**
 * The verdicts from the answers so far. An image is denied only if each of its credentials is. For
 * an entry, pulls count before a login, because a token may be allowed to log in but not to pull. A
 * denial does not count if a later credential pulls the image: the kubelet tries an entry for
 * `a.io/team` for `a.io/team-x/app` too.
 */
export function verdictsOf<E extends Entry>(
  { pulls, logins }: Plan<E>,
  answersOf: (question: Question) => Answers | undefined,
): Verified<E> {
  const entries = new Map<E, Verdict>();
  for (const { entry, question } of logins) {
    const verdict = isQuestion(question) ? answersOf(question)?.[0] : question;
    if (verdict !== undefined) entries.set(entry, verdict);
  }
  const images: Verified<E>["images"][number][] = [];
  const pulled = new Map<E, Verdict>();
  for (const { image, tries, question } of pulls) {
    const answers = isQuestion(question) ? answersOf(question) : [];
    if (answers === undefined) continue;
    const verdict = isQuestion(question) ? imageVerdict(answers) : question;
    images.push({ image, tries: tries.slice(0, answers.length), ...verdict });
    for (const [at, answer] of answers.entries()) {
      const entry = tries[at];
      const counts = answer.asked && answer.answer === verdict.answer && isDefinite(answer);
      if (entry === undefined || !counts || pulled.get(entry)?.answer === "Accepted") continue;
      pulled.set(entry, answer);
    }
  }
  for (const [entry, verdict] of pulled) entries.set(entry, verdict);
  return { entries, images };
}

export const isDefinite = ({ answer }: Verdict) => answer !== "Unknown";

const best = (verdicts: readonly Verdict[], answer: Verdict["answer"]) =>
  verdicts.find((verdict) => verdict.answer === answer);

const imageVerdict = (answers: Answers): Verdict =>
  best(answers, "Accepted") ??
  best(answers, "Unknown") ??
  answers[0] ??
  cannotAsk("no entry serves it");

function pullOf<E extends Entry>(entries: readonly E[], image: string): Pull<E> {
  const repository = repositoryOf(image);
  if (repository === undefined)
    return { image, tries: [], question: cannotAsk("not a valid image name") };
  const keyed = entries.map((entry) => ({ key: entry.registry, entry }));
  const tries = match(keyed, repository).tries.flatMap((group) => group.map(({ entry }) => entry));
  const imageHost = hostOf(repository);
  if (tries.length === 0) return { image, tries, question: cannotAsk("no entry serves it") };
  const pull = { path: repository.slice(imageHost.length + 1), reference: referenceOf(image) };
  return { image, tries, question: questionOf(servingHost(imageHost), pull, tries) };
}

function loginOf(entry: Entry): Question | Verdict {
  const host = hostOfKey(entry.registry);
  if (host === undefined) return cannotAsk(pattern);
  return questionOf(host, undefined, [entry]);
}

function questionOf(
  host: string,
  pull: Question["pull"],
  entries: readonly Entry[],
): Question | Verdict {
  if (!isExactly(host)) return cannotAsk("it names no host");
  const tries = entries.map(({ registry, credential, isPlain = false }) => ({
    credential,
    isNamed: hostOfKey(registry) === host,
    isPlain: isPlain && host !== dockerHubRegistry,
  }));
  // Anyone who may name an image could make the controller send the credential of a pattern to any
  // host that matches it. The kubelet also tries Docker Hub's credential for hosts without a dot.
  if (!tries.some(({ isNamed }) => isNamed)) return cannotAsk(pattern);
  const hash = createHash("sha256");
  for (const { credential, ...how } of tries)
    hash.update(`${JSON.stringify(how)} ${credential.encode()}\n`);
  return { id: JSON.stringify([host, pull, hash.digest("hex")]), host, pull, tries };
}

/**
 * Whether a URL with this host leads to this host. A URL's host can be an address in an odd
 * notation, which means another host there than for a container runtime.
 */
function isExactly(host: string): boolean {
  const url = `https://${host}/v2/`;
  if (!URL.canParse(url)) return false;
  const { hostname, pathname } = new URL(url);
  const name = splitPort(host).host.replace(/^\[|\]$/g, "");
  return hostname.replace(/^\[|\]$/g, "") === name.toLowerCase() && pathname === "/v2/";
}

/** The names that images and pull secrets use for Docker Hub. */
const dockerHub: ReadonlySet<string> = new Set(["docker.io", "index.docker.io"]);

const servingHost = (host: string) => (dockerHub.has(host) ? dockerHubRegistry : host);

/** The host of a key, as HOST or HOST:PORT. Undefined if the key does not name exactly one host. */
export function hostOfKey(key: string): string | undefined {
  const registry = identity(key);
  if (registry === undefined || hasWildcard(registry)) return undefined;
  return servingHost(hostOf(registry));
}

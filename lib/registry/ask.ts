/**
 * Asks registries whether they accept credentials, as a container runtime pulls: first without a
 * credential, then with what the registry demands.
 */
import { challengesIn, schemesOf, tokenIn, tokenService, type Challenge } from "./challenge.ts";
import {
  cannotAsk,
  pattern,
  type Answers,
  type Question,
  type Try,
  type Verdict,
} from "./question.ts";
import { send, Unreachable, type Limit, type RegistryAnswer } from "./send.ts";

/** The time limit in seconds for all questions together. */
export const limitSeconds = 10;

/**
 * Maximum number of questions at the same time. A proxy might refuse more connections, and fewer
 * registries that hang would delay all others.
 */
const together = 32;

const late: Verdict = { answer: "Unknown", why: "no answer in time", asked: true };

/**
 * Asks all questions. Never rejects, and takes at most `seconds`, even if a request never ends: a
 * request through a proxy that hangs ignores its signal. No answer contains a credential or
 * anything that a registry sent, except its status.
 */
export async function askAll(
  questions: readonly Question[],
  seconds = limitSeconds,
): Promise<ReadonlyMap<Question, Answers>> {
  const answers = new Map<Question, Answers>();
  const milliseconds = seconds * 1000;
  const signal = AbortSignal.timeout(milliseconds);
  const end = new Promise<Verdict>((resolve) => {
    signal.addEventListener("abort", () => resolve(late));
  });
  const open = byTurns(questions).values();
  async function work(): Promise<void> {
    for (const question of open)
      answers.set(question, await ask(question, { signal, milliseconds }, end));
  }
  await Promise.all(Array.from({ length: together }, work));
  return answers;
}

/** One question of each host, then the next of each, so that a host that hangs delays no other. */
function byTurns(questions: readonly Question[]): readonly Question[] {
  const counts = new Map<string, number>();
  const turns = questions.map((question) => {
    const turn = counts.get(question.host) ?? 0;
    counts.set(question.host, turn + 1);
    return { question, turn };
  });
  return turns.toSorted((a, b) => a.turn - b.turn).map(({ question }) => question);
}

/** Makes the tries in order, until one is accepted. */
async function ask(question: Question, limit: Limit, end: Promise<Verdict>): Promise<Answers> {
  const verdicts: Verdict[] = [];
  for (const attempt of question.tries) {
    // Even a request whose signal has been aborted looks the host up, which blocks a thread.
    const verdict = limit.signal.aborted
      ? late
      : await Promise.race([end, judge({ ...question, ...attempt, limit })]);
    verdicts.push(verdict);
    if (verdict.answer === "Accepted") break;
  }
  return verdicts;
}

type Attempt = Pick<Question, "host" | "pull"> & Try & Readonly<{ limit: Limit }>;

async function judge(attempt: Attempt): Promise<Verdict> {
  const { host, pull, credential, isNamed, isPlain } = attempt;
  if (!isNamed) return cannotAsk(pattern);
  if (credential.username === "" && credential.password === "")
    return cannotAsk("it has no user name and no password");
  const path = pull === undefined ? "" : `${pull.path}/manifests/${pull.reference}`;
  let why = "";
  for (const scheme of schemesOf(host, isPlain)) {
    try {
      return await handshake(attempt, new URL(`${scheme}://${host}/v2/${path}`));
    } catch (error) {
      // An unforeseen error must not end the program, and its message could quote an answer.
      const reason = error instanceof Unreachable ? error : new Unreachable("cannot be asked");
      why = reason.message;
      if (!reason.withoutTls) break;
    }
  }
  return { answer: "Unknown", why, asked: true };
}

async function handshake(attempt: Attempt, url: URL): Promise<Verdict> {
  const { pull, credential, limit } = attempt;
  const method = pull === undefined ? "GET" : "HEAD";
  const first = await send({ method, url, limit });
  if (first.status === 200)
    return pull === undefined
      ? cannotAsk("requires no credential")
      : { answer: "Accepted", why: "requires no credential", asked: false };
  // Only an answer to a credential is a verdict on it. A firewall can answer 403 to everyone.
  if (first.status !== 401) throw new Unreachable(`answers ${first.status} before any login`);
  const challenges = challengesIn(first.challenge);
  const bearer = challenges.find(({ scheme }) => scheme === "bearer");
  if (bearer !== undefined) return await byToken(attempt, url, bearer);
  if (!challenges.some(({ scheme }) => scheme === "basic"))
    throw new Unreachable("asks neither for Basic nor for Bearer");
  const authorization = `Basic ${credential.encode()}`;
  return verdictOf(await send({ method, url, authorization, limit }), "the registry");
}

async function byToken(attempt: Attempt, url: URL, challenge: Challenge): Promise<Verdict> {
  const { pull, credential, limit } = attempt;
  const service = tokenService(url, challenge, pull?.path);
  if (typeof service === "string") throw new Unreachable(service);
  const granted = await send({
    method: "GET",
    url: service,
    authorization: `Basic ${credential.encode()}`,
    limit,
  });
  if (granted.status !== 200) return verdictOf(granted, "its token service");
  const token = tokenIn(granted.body);
  if (token === undefined) throw new Unreachable("its token service gives no token");
  const method = pull === undefined ? "GET" : "HEAD";
  const answer = await send({ method, url, authorization: `Bearer ${token}`, limit });
  return verdictOf(answer, "the registry, with a token,");
}

/**
 * What an answer's status means for the credential. 404 means neither, because some registries hide
 * images in this way. 429 (too many requests) means neither, too.
 */
function verdictOf({ status }: RegistryAnswer, who: string): Verdict {
  if (status === 200) return { answer: "Accepted", why: "", asked: true };
  const why = `${who} answers ${status}`;
  if (status === 401 || status === 403) return { answer: "Denied", why, asked: true };
  throw new Unreachable(why);
}

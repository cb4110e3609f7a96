/**
 * A cluster client that does not fight with another writer. If another writer undid each of our
 * writes, we would repeat them forever without a pause, and agents or kubelets would suffer. So
 * this client sends the same write twenty times at once, and then once a minute. In between, the
 * write fails here with a conflict, which names the other field manager.
 */
import { createHash } from "node:crypto";
import type { KubernetesObject, V1ObjectMeta } from "@kubernetes/client-node";
import { ApiError } from "./client/api-error.ts";
import type { Cluster } from "./client/cluster.ts";
import { otherManager } from "./client/ownership.ts";
import { Allowance, type Rate } from "./allowance.ts";

/**
 * Limits the writes of one wanted content: first it allows a burst of writes, then one write from
 * time to time. If the same content needs more writes, another client undoes them, and each write
 * would provoke the next. A different content starts with the full burst. Times are milliseconds of
 * a monotonic clock.
 */
export class Contest<T> {
  readonly #rate: Rate;
  readonly #same: (content: T | undefined, other: T | undefined) => boolean;
  #of: T | undefined;
  #left: Allowance;

  /** `same`: whether two values are the same content; undefined counts as a content. */
  constructor(rate: Rate, same: (content: T | undefined, other: T | undefined) => boolean) {
    [this.#rate, this.#same] = [rate, same];
    this.#left = new Allowance(rate);
  }

  /** Counts a write that the cluster answered. */
  wrote(content: T | undefined, now: number): void {
    if (!this.#same(content, this.#of)) this.#left = new Allowance(this.#rate, now);
    this.#of = content;
    this.#left.take(1, now);
  }

  /** The time from which we can write this content again; undefined if we can write it now. */
  lostUntil(content: T | undefined, now: number): number | undefined {
    const until = this.#same(content, this.#of) ? this.next(now) : now;
    return until > now ? until : undefined;
  }

  /** When we can write the last written content again. */
  next(now: number): number {
    return this.#left.when(1, now);
  }
}

/**
 * We repair twenty edits, for example by an administrator, at once. If an object always needs more
 * than one repair a minute, another program writes it.
 */
const writes = { perSecond: 1 / 60, atOnce: 20 };

/** An object whose content another client undoes. */
export type ContestedObject = Readonly<{
  path: string;
  /** The other field manager that wrote last; undefined if unknown. */
  manager: string | undefined;
}>;

/**
 * Maximum seconds until the caller reads again. The wait is short, because the caller's next write
 * might be different, such as a withdrawal that the user requests. We send a different write at
 * once.
 */
const longestPause = 10;

/** The refusal of a write that another client would only undo. */
export class Contested extends ApiError {
  constructor({ path, manager }: ContestedObject, seconds: number) {
    const who = manager === undefined ? "another client" : JSON.stringify(manager);
    super({
      status: 409,
      reason: "Contested",
      method: "PATCH",
      path,
      detail: `${who} keeps changing this object`,
      retryAfterSeconds: Math.min(seconds, longestPause),
    });
  }
}

/** The part of a body that identifies its content; undefined: all declared fields. */
type Essence = (path: string, body: object) => object | undefined;

type Fought = { contest: Contest<string>; lost: ContestedObject | undefined; digest: string };

/**
 * A client that limits repeated writes of the same content, and lists the objects that are
 * contested now. It does not count patches: each patch is for one version of the object, and sets
 * something different. It does not count applies of a status, which lib/runtime/status.ts limits:
 * the status that reports the contest would be new content, so it would be allowed at once, and it
 * would end the contest. `essence` is for objects with a new number or salt in each write.
 */
export function contested(
  cluster: Cluster,
  clock = () => performance.now(),
  essence: Essence = () => undefined,
) {
  const all = new Map<string, Fought>();

  async function write<T>(
    path: string,
    body: object,
    send: () => Promise<T>,
    manager: string,
  ): Promise<T> {
    const digest = digestOf(essence(path, body) ?? declaredBy(body));
    // We write as several managers in turn. If all managers had one count, each write would look
    // like new content.
    const key = `${manager} ${path}`;
    const entry = all.get(key) ?? {
      contest: new Contest(writes, Object.is),
      lost: undefined,
      digest,
    };
    all.set(key, entry);
    if (entry.digest !== digest) entry.lost = undefined;
    entry.digest = digest;
    const until = entry.contest.lostUntil(digest, clock());
    if (until !== undefined) {
      entry.lost = {
        path,
        manager: await writerOf(cluster, path).catch(() => entry.lost?.manager),
      };
      throw new Contested(entry.lost, (until - clock()) / 1000);
    }
    const reply = await send();
    entry.contest.wrote(digest, clock());
    return reply;
  }

  return {
    cluster: {
      ...cluster,
      apply: (path, body, options) => {
        const send = () => cluster.apply<never>(path, body, options);
        if (options.dryRun === true || path.endsWith("/status")) return send();
        return write(path, body, send, options.manager);
      },
    } satisfies Cluster as Cluster,
    /**
     * Objects for which a write was refused, until a minute has passed without another such write.
     */
    listContests: (): readonly ContestedObject[] => {
      const now = clock();
      const lostObjects = [...all.values()].flatMap(({ contest, lost, digest }) =>
        lost !== undefined && contest.lostUntil(digest, now) !== undefined ? [lost] : [],
      );
      return [...new Map(lostObjects.map((object) => [object.path, object])).values()];
    },
  };
}

/** The fields that a write changes, whatever version it is based on. */
function declaredBy(body: object): object {
  const { metadata = {}, ...rest } = body as KubernetesObject & { metadata?: V1ObjectMeta };
  const { name, labels, annotations, ownerReferences, finalizers } = metadata;
  const mine = { name, labels, annotations, ownerReferences, finalizers };
  return { ...rest, metadata: mine };
}

/** We keep the digest in memory only, because the digest of a Secret must not leave the process. */
const digestOf = (content: object): string =>
  createHash("sha256").update(JSON.stringify(content)).digest("base64");

async function writerOf(cluster: Cluster, path: string): Promise<string | undefined> {
  const live = await cluster.get<KubernetesObject>(path, { as: "metadata" });
  return otherManager(live?.metadata);
}

/** One cluster of the fleet: what is there, and the writes that bring the content there. */
import type { KubernetesObject } from "@kubernetes/client-node";
import { ApiError } from "#kube/client/api-error.ts";
import { newborn, type Cluster } from "#kube/client/cluster.ts";
import type { Access } from "#kube/kubeconfig/access.ts";
import { backoff } from "#kube/client/retry.ts";
import type { AccessReading } from "../inventory/access.ts";
import { fleetManager } from "./connect.ts";
import type { ClusterFacts } from "../order/standing.ts";
import { isPlacedBy, ownerMark, type Content, has } from "../secret/content.ts";
import { isLasting, sentence } from "../secret/problems.ts";
import type { WatchTarget } from "#kube/watch/watch.ts";
import type { Placement, Way } from "../way/way.ts";
import { Link, away, told } from "./link.ts";
import { Contest } from "#kube/contested-client.ts";

/** Most milliseconds until a write that got no answer is tried again. */
const longestPause = 30_000;

/** Least milliseconds until a refused write is tried again: a refusal does not pass sooner. */
const shortestRetry = 5000;

type Options = Readonly<{
  way: Way;
  /** How the cluster is reached; or the management cluster itself. */
  reach: (() => Promise<AccessReading>) | Cluster;
  /** True while we hold the Lease; only its holder writes. */
  holds: () => boolean;
  hint: () => void;
  /** How a connection is made. */
  connect?: (access: Access) => Cluster;
}>;

type There = ClusterFacts["there"];
type Objects = readonly (KubernetesObject | undefined)[];

export class Guest {
  readonly #options: Options;
  readonly #link: Link;
  /** A write that got no answer. The guest counts as away until then, by performance.now(). */
  #unanswered: { why: string; times: number; until: number } | undefined;
  /** What was refused, a content or its removal, why, how often, and when it may be tried again. */
  #refusal: { of: Due; why: string; own: boolean; times: number; next: number } | undefined;
  #writing = false;
  readonly #contest = contestOfGuest();
  /** Whether a Secret with this owner's mark, or with none, may be taken over. */
  takes: (mark: string | undefined) => boolean = () => false;

  constructor({ connect, ...options }: Options) {
    const { way, reach, hint } = options;
    this.#options = options;
    const needed = way.placed.map(({ target }) => target);
    const besides = [...(way.former ?? []), ...(way.witness === undefined ? [] : [way.witness])];
    this.#link = new Link({ reach, needed, besides, hint, ...(connect && { connect }) });
  }

  close(): void {
    this.#link.close();
  }

  /** Whether it is to give back what it has; see Link. */
  set leaving(is: boolean) {
    this.#link.leaving = is;
  }

  /** True while a write is under way, or what it left is not known yet. */
  get busy(): boolean {
    return this.#writing || this.#link.doubted;
  }

  /**
   * Milliseconds after which to look again even if nothing happens: a write that got no answer or
   * was refused may be tried again, or what is said of the cluster is over. All pauses here go by a
   * clock that nobody sets; one that was put back would hold up a cluster for as long.
   */
  again(): readonly number[] {
    const now = performance.now();
    const moments = [this.#unanswered?.until, this.#refusal?.next, this.#contest.next(now)];
    const waits = moments.map((one) => one && one - now);
    return [...waits, this.#link.excess].filter((one) => one !== undefined);
  }

  /** Why less is heard of the cluster than there is; undefined where that is not so. */
  warning(): string | undefined {
    return this.#link.excess === undefined ? undefined : sentence("excess");
  }

  /** What is there, compared with this content or with none. */
  there(content: Due, owner: string): There {
    const { way } = this.#options;
    const objects = this.#objects();
    if ("is" in objects) return objects;
    const found = objects.slice(0, way.placed.length);
    const isForeign = (one: KubernetesObject) =>
      !isPlacedBy(one, owner) && !this.takes(ownerMark(one));
    if (found.some((one) => one !== undefined && isForeign(one)))
      return { is: "foreign", why: sentence("foreign") };
    const whole = this.#leftOvers(objects, owner).length === 0;
    if (content === undefined || !whole || !way.placed.every((one, at) => isIn(one, found[at]))) {
      const lost = this.#contest.lostUntil(content, performance.now()) !== undefined;
      if (lost) return { is: "away", why: sentence("contested") };
      return { is: "other", present: found.every((one) => one !== undefined) };
    }
    const seen = this.#link.found;
    const witness = way.placed.length + (way.former?.length ?? 0);
    const proof = way.proof(found, Array.isArray(seen) ? seen[witness] : undefined);
    return { is: "has", proof: proof.is, why: "why" in proof ? proof.why : undefined };

    function isIn(one: Placement, object: KubernetesObject | undefined): boolean {
      return object !== undefined && content !== undefined && one.has(object, content, owner);
    }
  }

  /**
   * Tells what that owner placed in this cluster from what it placed in any other; undefined while
   * not all of it is known to be there. A uid alone is that of a copy, too, which somebody restored
   * from the same etcd, and which has an authority of its own.
   */
  placedAs(owner: string): string | undefined {
    const objects = this.#objects();
    const { authority } = this.#link;
    if (!Array.isArray(objects) || authority === undefined) return undefined;
    const found = objects.slice(0, this.#options.way.placed.length);
    if (!found.every((one) => one !== undefined && isPlacedBy(one, owner))) return undefined;
    return [authority, ...found.map(({ metadata }) => metadata?.uid)].join(" ");
  }

  #objects(): Objects | Exclude<There, { is: "foreign" | "other" | "has" }> {
    const seen = this.#link.found;
    if (seen === "unknown") return { is: "unknown" };
    if ("away" in seen) return awayFor(seen.away);
    if (this.#unanswered !== undefined && performance.now() < this.#unanswered.until)
      return awayFor(this.#unanswered.why);
    return seen.map((one) => (one.is === "shown" ? one.object : undefined));
  }

  /**
   * Why this content, or its removal, was refused, whether for a reason of the cluster's own, and
   * in how many milliseconds to try again.
   */
  refusal(wanted: Due): Readonly<{ why: string; own: boolean; wait: number }> | undefined {
    const one = this.#refusal;
    if (one === undefined || !same(one.of, wanted)) return undefined;
    return { why: one.why, own: one.own, wait: one.next - performance.now() };
  }

  /** Brings the content there. Never rejects; the watch shows what came of it. */
  async change(content: Content, owner: string): Promise<void> {
    await this.#write(content, async (cluster, found) => {
      for (const [at, one] of this.#options.way.placed.entries()) {
        const object = found[at];
        if (object !== undefined && one.has(object, content, owner)) continue;
        await place(cluster, one, object, content, owner);
      }
      for (const one of this.#leftOvers(found, owner)) await removeFrom(cluster, one);
    });
  }

  /**
   * Takes away what that owner placed, last placed first, unless that was refused a moment ago.
   * True when nothing of it is left.
   */
  withdraw(owner: string): boolean {
    const objects = this.#objects();
    if (!Array.isArray(objects) || this.busy) return false;
    const { placed } = this.#options.way;
    const ours = [
      ...this.#leftOvers(objects, owner),
      ...placed.flatMap(({ target }, at) => ownedAt(target, objects[at], owner)).toReversed(),
    ];
    if (ours.length === 0) return true;
    if ((this.refusal(undefined)?.wait ?? 0) > 0) return false;
    void this.#write(undefined, async (cluster) => {
      for (const one of ours) await removeFrom(cluster, one);
    });
    return false;
  }

  /** What that owner placed by a name of a former version. */
  #leftOvers(objects: Objects, owner: string): readonly Owned[] {
    const { placed, former = [] } = this.#options.way;
    return former.flatMap((target, at) => ownedAt(target, objects[placed.length + at], owner));
  }

  async #write(
    content: Due,
    write: (cluster: Cluster, found: Objects) => Promise<void>,
  ): Promise<void> {
    const objects = this.#objects();
    const { cluster } = this.#link;
    if (cluster === undefined || !Array.isArray(objects) || this.busy) return;
    if (!this.#options.holds()) return;
    if (this.#contest.lostUntil(content, performance.now()) !== undefined) return;
    this.#writing = true;
    let answered = true;
    try {
      await write(cluster, objects);
      this.#refusal = undefined;
      this.#unanswered = undefined;
      this.#contest.wrote(content, performance.now());
    } catch (error) {
      // A conflict: somebody else wrote first, and a list is about to show it.
      if (error instanceof ApiError && error.status === 409)
        return this.#contest.wrote(content, performance.now());
      if (isAway(error)) {
        answered = false;
        const times = (this.#unanswered?.times ?? 0) + 1;
        const pause = Math.min(backoff(times), longestPause);
        this.#unanswered = { why: away(error), times, until: performance.now() + pause };
      } else this.#refuse(content, error as Error);
    } finally {
      this.#writing = false;
      this.#link.look(answered);
      this.#options.hint();
    }
  }

  #refuse(of: Due, error: Error): void {
    const former = this.#refusal;
    const times = former !== undefined && same(former.of, of) ? former.times + 1 : 1;
    const own = of === undefined || !isOfContent(error);
    const said = () => sentence(own ? "refused" : "rejected", told(error));
    this.#refusal = {
      of,
      why: error instanceof Mutated ? error.message : said(),
      own,
      times,
      next: performance.now() + Math.max(shortestRetry, backoff(times)),
    };
  }
}

const awayFor = (why: string) => ({ is: "away", why, lasting: isLasting(why) }) as const;

type Owned = Readonly<{ target: WatchTarget; object: KubernetesObject }>;

const ownedAt = (
  target: WatchTarget,
  object: KubernetesObject | undefined,
  owner: string,
): readonly Owned[] =>
  object !== undefined && isPlacedBy(object, owner) ? [{ target, object }] : [];

async function removeFrom(cluster: Cluster, { target, object }: Owned): Promise<void> {
  const { uid = "", resourceVersion } = object.metadata ?? {};
  await cluster.remove(`${target.collection}/${target.name}`, uid, resourceVersion);
}

async function place(
  cluster: Cluster,
  one: Placement,
  found: KubernetesObject | undefined,
  content: Content,
  owner: string,
): Promise<void> {
  const path = `${one.target.collection}/${one.target.name}`;
  const wanted = one.body(content, owner);
  const { uid = "", resourceVersion, ownerReferences } = found?.metadata ?? {};
  const with_ = (more: object) => ({ ...wanted, metadata: { ...wanted.metadata, ...more } });
  const how = { manager: fleetManager, force: true };
  const anew = found === undefined || one.fixed(found, content);
  if (found !== undefined && anew) await cluster.remove(path, uid, resourceVersion);
  let reply: KubernetesObject;
  if (anew) reply = await cluster.apply(path, with_({ resourceVersion: newborn }), how);
  // An apply leaves what others added to our fields. A replacement must keep other owners that need
  // the object.
  else if (one.crowded(found, content))
    reply = await cluster.replace(path, with_({ uid, resourceVersion, ownerReferences }));
  else reply = await cluster.apply(path, with_({ uid, resourceVersion }), how);
  if (!one.has(reply, content, owner)) throw new Mutated(sentence("mutated"));
}

/** True for no answer, or one that says nothing about the request. A refusal is an answer. */
function isAway(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  return error.status === 0 || error.status >= 500 || [401, 408, 429].includes(error.status);
}

/**
 * True for an answer that finds the content itself invalid. Rights, a namespace that is absent, and
 * what admission there denies, with whatever status, are that cluster's own.
 */
const isOfContent = (error: unknown): boolean =>
  error instanceof ApiError && [400, 413, 422].includes(error.status) && !error.isDenial;

class Mutated extends Error {}

/**
 * Writes of one content, or removals, that a cluster gets. To repair it five times at once is
 * nothing special. A cluster that needs more than one a minute, for ever, undoes them; as a canary
 * it would hold up all others, and each write would be followed by the next at once.
 */
const writes = { perSecond: 1 / 60, atOnce: 5 };

/** What is to be there; undefined: nothing. */
export type Due = Content | undefined;

const same = (one: Due, other: Due): boolean =>
  one === other || (one !== undefined && other !== undefined && has(one, other));

export const contestOfGuest = (): Contest<Content> => new Contest(writes, same);

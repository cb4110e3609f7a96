/** One cluster of the fleet: reads the objects there, and writes the content. */
import type { KubernetesObject } from "@kubernetes/client-node";
import { ApiError } from "#kube/client/api-error.ts";
import { newborn, type Cluster } from "#kube/client/cluster.ts";
import type { Access } from "#kube/kubeconfig/access.ts";
import { backoff } from "#kube/client/retry.ts";
import type { AccessReading } from "./inventory/access.ts";
import { fleetManager, Connection, unreachableBecause, answerOf } from "./connection.ts";
import type { ClusterFacts } from "./rules/cluster-state.ts";
import { isPlacedBy, ownerMark, type Content } from "./rules/content.ts";
import { isLasting, sentence } from "./rules/problems.ts";
import type { WatchTarget } from "#kube/watch/watch.ts";
import type { Placement, Transport } from "./transport/transport.ts";
import { Contest } from "#kube/contested-client.ts";
import { fenced } from "#runtime/fenced-client.ts";

/** Longest pause, in milliseconds, before we repeat a write that got no answer. */
const longestPause = 30_000;

/**
 * Shortest pause, in milliseconds, before we repeat a write that the cluster refused. During the
 * pause, the cluster counts as refusing.
 */
const shortestRetry = 5000;

type Options = Readonly<{
  transport: Transport;
  /** Finds out how to reach the cluster. The management cluster has a client instead. */
  reach: (() => Promise<AccessReading>) | Cluster;
  /** True while this process holds the Lease. Only the holder writes. */
  holds: () => boolean;
  hint: () => void;
  connect?: (access: Access) => Cluster;
}>;

type There = ClusterFacts["observed"];
type Objects = readonly (KubernetesObject | undefined)[];

export class FleetCluster {
  readonly #options: Options;
  readonly #connection: Connection;
  /**
   * Writes that got no answer. The cluster counts as unreachable until performance.now() reaches
   * `until`.
   */
  #unanswered: { why: string; times: number; until: number } | undefined;
  /** Why the cluster refused content or its removal, how many times, and when to try again. */
  #refusal:
    | { of: string | undefined; why: string; own: boolean; times: number; next: number }
    | undefined;
  #writing = false;
  readonly #contest = new Contest<string>(writes, Object.is);
  /**
   * Returns whether to take over an existing Secret. `mark` is the owner's mark on the Secret, or
   * undefined if the Secret has no mark.
   */
  mayAdopt: (mark: string | undefined) => boolean = () => false;

  constructor({ connect, ...options }: Options) {
    const { transport, reach, hint } = options;
    this.#options = options;
    const needed = transport.placed.map(({ target }) => target);
    const besides = transport.witness === undefined ? [] : [transport.witness];
    this.#connection = new Connection({
      reach,
      needed,
      besides,
      hint,
      ...(connect && { connect }),
    });
  }

  close(): void {
    this.#connection.close();
  }

  /** Whether the Secret is being removed from this cluster; see Connection. */
  set leaving(is: boolean) {
    this.#connection.leaving = is;
  }

  /** True while a write is under way, or while its result is unknown. */
  get busy(): boolean {
    return this.#writing || this.#connection.doubted;
  }

  /**
   * In how many milliseconds to check this cluster even if nothing happens: to repeat a write that
   * was refused or got no answer, or to end a warning.
   */
  again(): readonly number[] {
    const now = performance.now();
    const moments = [this.#unanswered?.until, this.#refusal?.next, this.#contest.next(now)];
    const waits = moments.map((moment) => moment && moment - now);
    return [...waits, this.#connection.excess].filter((wait) => wait !== undefined);
  }

  /** A warning if the cluster sends too much, so that not everything is read. */
  warning(): string | undefined {
    return this.#connection.excess === undefined ? undefined : sentence("excess");
  }

  /**
   * Compares the objects in the cluster with this content. If the content is undefined, the cluster
   * should have no objects.
   */
  compare(content: Wanted, owner: string): There {
    const { transport } = this.#options;
    const objects = this.#objects();
    if ("is" in objects) return objects;
    const placedObjects = objects.slice(0, transport.placed.length);
    const isForeign = (object: KubernetesObject) =>
      !isPlacedBy(object, owner) && !this.mayAdopt(ownerMark(object));
    if (placedObjects.some((object) => object !== undefined && isForeign(object)))
      return { is: "foreign", why: sentence("foreign") };
    if (
      content === undefined ||
      !transport.placed.every((placement, at) => isIn(placement, placedObjects[at]))
    ) {
      const lost = this.#contest.lostUntil(content?.digest, performance.now()) !== undefined;
      if (lost) return { is: "away", why: sentence("contested") };
      return { is: "other", present: placedObjects.every((object) => object !== undefined) };
    }
    const seen = this.#connection.found;
    const witness = Array.isArray(seen) ? seen[transport.placed.length] : undefined;
    const proof = transport.proof(placedObjects, witness);
    return { is: "has", proof: proof.is, why: "why" in proof ? proof.why : undefined };

    function isIn(placement: Placement, object: KubernetesObject | undefined): boolean {
      return object !== undefined && content !== undefined && placement.has(object, content, owner);
    }
  }

  /**
   * Identifies the objects that this owner placed in this cluster. Undefined until we have read all
   * of them. The uids alone do not suffice: a cluster that was restored from a copy of this
   * cluster's etcd has the same uids, but another certificate authority.
   */
  placementId(owner: string): string | undefined {
    const objects = this.#objects();
    const { authority } = this.#connection;
    if (!Array.isArray(objects) || authority === undefined) return undefined;
    const placedObjects = objects.slice(0, this.#options.transport.placed.length);
    if (!placedObjects.every((object) => object !== undefined && isPlacedBy(object, owner)))
      return undefined;
    return [authority, ...placedObjects.map(({ metadata }) => metadata?.uid)].join(" ");
  }

  #objects(): Objects | Exclude<There, { is: "foreign" | "other" | "has" }> {
    const seen = this.#connection.found;
    if (seen === "unknown") return { is: "unknown" };
    if ("away" in seen) return awayFor(seen.away);
    if (this.#unanswered !== undefined && performance.now() < this.#unanswered.until)
      return awayFor(this.#unanswered.why);
    return seen.map((state) => (state.is === "shown" ? state.object : undefined));
  }

  /**
   * The cluster's refusal of this content or of its removal: why, whether the reason lies in the
   * cluster (`own`), and the milliseconds until the next attempt.
   */
  refusal(content: Wanted): Readonly<{ why: string; own: boolean; wait: number }> | undefined {
    const refusal = this.#refusal;
    if (refusal === undefined || refusal.of !== content?.digest) return undefined;
    return { why: refusal.why, own: refusal.own, wait: refusal.next - performance.now() };
  }

  /** Brings the content to the cluster. Never rejects. The watch shows the result. */
  async change(content: Content, owner: string): Promise<void> {
    await this.#write(content, async (cluster, objects) => {
      for (const [at, placement] of this.#options.transport.placed.entries()) {
        const object = objects[at];
        if (object !== undefined && placement.has(object, content, owner)) continue;
        await place(cluster, placement, object, content, owner);
      }
    });
  }

  /**
   * Removes the objects that this owner placed, in reverse order, but not during the pause after a
   * refusal. Returns true when none of the objects is left. If `offered`, does not remove the
   * Secret that is offered to another owner, and returns true when the Secret has the other owner's
   * mark.
   */
  withdraw(owner: string, offered = false): boolean {
    const objects = this.#objects();
    if (!Array.isArray(objects) || this.busy) return false;
    const { placed } = this.#options.transport;
    const copies = placed.flatMap(({ target }, at) => ownedAt(target, objects[at], owner));
    if (copies.length === 0) return true;
    if (offered || (this.refusal(undefined)?.wait ?? 0) > 0) return false;
    void this.#write(undefined, async (cluster) => {
      for (const copy of copies.toReversed()) await removeFrom(cluster, copy);
    });
    return false;
  }

  async #write(
    content: Wanted,
    write: (cluster: Cluster, objects: Objects) => Promise<void>,
  ): Promise<void> {
    const objects = this.#objects();
    const { cluster } = this.#connection;
    if (cluster === undefined || !Array.isArray(objects) || this.busy) return;
    if (!this.#options.holds()) return;
    const digest = content?.digest;
    if (this.#contest.lostUntil(digest, performance.now()) !== undefined) return;
    this.#writing = true;
    let answered = true;
    try {
      // The Lease can be lost between two writes.
      await write(fenced(cluster, this.#options.holds), objects);
      this.#refusal = undefined;
      this.#unanswered = undefined;
      this.#contest.wrote(digest, performance.now());
    } catch (error) {
      // A conflict: another client changed the object before us. The next list shows that change.
      if (error instanceof ApiError && error.status === 409)
        return this.#contest.wrote(digest, performance.now());
      if (isAway(error)) {
        answered = false;
        const times = (this.#unanswered?.times ?? 0) + 1;
        const pause = Math.min(backoff(times), longestPause);
        this.#unanswered = {
          why: unreachableBecause(error),
          times,
          until: performance.now() + pause,
        };
      } else this.#refuse(digest, error as Error);
    } finally {
      this.#writing = false;
      this.#connection.observeWrite(answered);
      this.#options.hint();
    }
  }

  #refuse(of: string | undefined, error: Error): void {
    const former = this.#refusal;
    const times = former !== undefined && former.of === of ? former.times + 1 : 1;
    const own = of === undefined || !isOfContent(error);
    const text = () => sentence(own ? "refused" : "rejected", answerOf(error));
    this.#refusal = {
      of,
      why: error instanceof Mutated ? error.message : text(),
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
  placement: Placement,
  object: KubernetesObject | undefined,
  content: Content,
  owner: string,
): Promise<void> {
  const path = `${placement.target.collection}/${placement.target.name}`;
  const body = placement.body(content, owner);
  const { uid = "", resourceVersion, ownerReferences, finalizers } = object?.metadata ?? {};
  const with_ = (more: object) => ({ ...body, metadata: { ...body.metadata, ...more } });
  const how = { manager: fleetManager, force: true };
  const isReplaced = object === undefined || placement.fixed(object, content);
  if (object !== undefined && isReplaced) await cluster.remove(path, uid, resourceVersion);
  let reply: KubernetesObject;
  if (isReplaced) reply = await cluster.apply(path, with_({ resourceVersion: newborn }), how);
  // We replace the object, because an apply would not remove what other clients added to our
  // fields. We keep owners and finalizers, because other programs might need the object.
  else if (placement.crowded(object, content))
    reply = await cluster.replace(
      path,
      with_({ uid, resourceVersion, ownerReferences, finalizers }),
    );
  else reply = await cluster.apply(path, with_({ uid, resourceVersion }), how);
  const { keep = (whole) => whole } = placement.target;
  if (!placement.has(keep(reply), content, owner)) throw new Mutated(sentence("mutated"));
}

/**
 * True if the cluster gave no answer, or an answer such as 503. Such an answer does not decide
 * about the request, but a refusal such as 403 does.
 */
function isAway(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  return error.status === 0 || error.status >= 500 || [401, 408, 429].includes(error.status);
}

/**
 * True if the answer rejects the content itself. Missing rights, a missing namespace and denials by
 * admission (with any status) are reasons that lie in the cluster.
 */
const isOfContent = (error: unknown): boolean =>
  error instanceof ApiError && [400, 413, 422].includes(error.status) && !error.isDenial;

class Mutated extends Error {}

/**
 * Limits how often we write one content, or remove it, in one cluster. Five repairs in a row are
 * normal. If a cluster always needs more than one repair a minute, another client there keeps
 * undoing our writes. Without a limit, we would write without a pause, and if such a cluster were
 * the canary, it would block all other clusters.
 */
const writes = { perSecond: 1 / 60, atOnce: 5 };

/** The content that should be there. Undefined: none. */
export type Wanted = Content | undefined;

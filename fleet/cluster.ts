/** One cluster of the fleet: reads the objects there, and writes the content. */
import type { KubernetesObject } from "@kubernetes/client-node";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { copyStep, isWrite, writeFailure, type LiveCopy } from "#kube/apply/copy.ts";
import { ChangedByAdmission, place } from "#kube/apply/place.ts";
import { uidOf } from "#kube/client/ownership.ts";
import { backoff } from "#kube/client/retry.ts";
import type { AccessReading } from "./inventory/access.ts";
import { Connection, fleetManager, unreachableBecause, answerOf } from "./connection.ts";
import type { ClusterFacts } from "./rules/cluster-state.ts";
import { isPlacedBy, ownerMark, type Content } from "./rules/content.ts";
import { isLasting, sentence } from "./rules/problems.ts";
import type { Transport } from "./transport/transport.ts";
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
}>;

type There = ClusterFacts["observed"];
type Objects = readonly (LiveCopy | undefined)[];

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
   * Who keeps us from taking over an existing Secret; undefined if nobody does. `mark` is the
   * owner's mark on the Secret, or undefined if the Secret has no mark.
   */
  holderOf: (mark: string | undefined) => string | undefined = () => "";

  constructor(options: Options) {
    const { transport, reach, hint } = options;
    this.#options = options;
    const needed = transport.placed.map(({ target }) => target);
    const besides = transport.witness === undefined ? [] : [transport.witness];
    this.#connection = new Connection({ reach, needed, besides, hint });
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
    const foreign = placedObjects.find((object) => object && !this.#isOurs(object, owner));
    if (foreign !== undefined)
      return { is: "foreign", why: sentence("foreign", this.holderOf(ownerMark(foreign))) };
    const steps = transport.placed.map(
      ({ desired }, at) => content && copyStep(placedObjects[at], desired(content, owner), true),
    );
    const isHeld = (object: LiveCopy | undefined, at: number) =>
      object?.metadata?.deletionTimestamp !== undefined && steps[at] !== "update";
    if (placedObjects.some(isHeld)) return { is: "foreign", why: sentence("deleting") };
    if (steps.some((step) => step !== "nothing")) {
      const lost = this.#contest.lostUntil(content?.digest, performance.now()) !== undefined;
      if (lost) return { is: "away", why: sentence("contested") };
      return { is: "other", present: placedObjects.every((object) => object !== undefined) };
    }
    const seen = this.#connection.found;
    const witness = Array.isArray(seen) ? seen[transport.placed.length] : undefined;
    const proof = transport.proof(placedObjects, witness);
    return { is: "has", proof: proof.is, why: "why" in proof ? proof.why : undefined };
  }

  /** True for an object that this owner placed, or may take over. */
  #isOurs(object: KubernetesObject, owner: string): boolean {
    return isPlacedBy(object, owner) || this.holderOf(ownerMark(object)) === undefined;
  }

  #objects(): Objects | Exclude<There, { is: "foreign" | "other" | "has" }> {
    const seen = this.#connection.found;
    if (seen === "unknown") return { is: "unknown" };
    if ("away" in seen) return awayFor(seen.away);
    if (this.#unanswered !== undefined && performance.now() < this.#unanswered.until)
      return awayFor(this.#unanswered.why);
    return seen.map((state) =>
      state.is === "shown" ? (state.object as LiveCopy | undefined) : undefined,
    );
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
    const objects = this.#objects();
    if (!Array.isArray(objects)) return;
    const writes = this.#options.transport.placed.flatMap(({ target, desired: by }, at) => {
      const [live, desired] = [objects[at], by(content, owner)];
      const step = copyStep(live, desired, live !== undefined && this.#isOurs(live, owner));
      return isWrite(step) ? [{ step, manager: fleetManager, ...target, live, desired }] : [];
    });
    if (writes.length === 0) return;
    await this.#write(content, async (cluster) => {
      for (const { step, ...write } of writes) await place(cluster, step, write);
    });
  }

  /** UIDs of the objects that this owner placed, as far as we have read them. */
  uids(owner: string): readonly string[] {
    return this.#copies(owner)?.map(({ object }) => uidOf(object)) ?? [];
  }

  /** The objects that this owner placed. Undefined if we do not know them now. */
  #copies(owner: string) {
    const objects = this.#objects();
    if (!Array.isArray(objects)) return undefined;
    return this.#options.transport.placed.flatMap(({ target }, at) => {
      const object = objects[at];
      return object !== undefined && isPlacedBy(object, owner) ? [{ target, object }] : [];
    });
  }

  /**
   * Removes the objects that this owner placed, in reverse order, but not during the pause after a
   * refusal. Returns true when none of the objects is left. `isKept`: we remove none, because
   * another owner takes them over.
   */
  withdraw(owner: string, isKept = false): boolean {
    const copies = this.#copies(owner);
    if (copies === undefined || this.busy) return false;
    if (copies.length === 0) return true;
    // A finalizer can hold an object that we have removed.
    const present = copies.filter(({ object }) => object.metadata?.deletionTimestamp === undefined);
    if (isKept || present.length === 0 || (this.refusal(undefined)?.wait ?? 0) > 0) return false;
    void this.#write(undefined, async (cluster) => {
      for (const { target, object } of present.toReversed()) {
        const { uid = "", resourceVersion } = object.metadata ?? {};
        await cluster.remove(`${target.collection}/${target.name}`, uid, resourceVersion);
      }
    });
    return false;
  }

  async #write(content: Wanted, write: (cluster: Cluster) => Promise<void>): Promise<void> {
    const { cluster } = this.#connection;
    if (cluster === undefined || this.busy) return;
    const digest = content?.digest;
    if (this.#contest.lostUntil(digest, performance.now()) !== undefined) return;
    this.#writing = true;
    let answered = true;
    try {
      // The Lease can be lost between two writes.
      await write(fenced(cluster, this.#options.holds));
      this.#refusal = undefined;
      this.#unanswered = undefined;
      this.#contest.wrote(digest, performance.now());
    } catch (error) {
      const failure = error instanceof ApiError ? writeFailure(error) : undefined;
      // Another client changed the object before us. The next list shows that change.
      if (failure === "conflict") return this.#contest.wrote(digest, performance.now());
      if (failure === "away" || failure === "denied") {
        answered = false;
        const times = (this.#unanswered?.times ?? 0) + 1;
        const pause = Math.min(backoff(times), longestPause);
        this.#unanswered = {
          why: unreachableBecause(error),
          times,
          until: performance.now() + pause,
        };
      } else this.#refuse(digest, error, digest === undefined || failure !== "invalid");
    } finally {
      this.#writing = false;
      this.#connection.observeWrite(answered);
      this.#options.hint();
    }
  }

  /** `own`: the reason lies in the cluster, not in the content. */
  #refuse(of: string | undefined, error: unknown, own: boolean): void {
    const former = this.#refusal;
    const times = former !== undefined && former.of === of ? former.times + 1 : 1;
    const isChanged = error instanceof ChangedByAdmission;
    const text = () => sentence(own ? "refused" : "rejected", answerOf(error));
    this.#refusal = {
      of,
      why: isChanged ? sentence("mutated") : text(),
      own,
      times,
      next: performance.now() + Math.max(shortestRetry, backoff(times)),
    };
  }
}

const awayFor = (why: string) => ({ is: "away", why, lasting: isLasting(why) }) as const;

/**
 * Limits how often we write one content, or remove it, in one cluster. Five repairs in a row are
 * normal. If a cluster always needs more than one repair a minute, another client there keeps
 * undoing our writes. Without a limit, we would write without a pause, and if such a cluster were
 * the canary, it would block all other clusters.
 */
const writes = { perSecond: 1 / 60, atOnce: 5 };

/** The content that should be there. Undefined: none. */
export type Wanted = Content | undefined;

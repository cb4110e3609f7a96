/**
 * Reconciles the SyncSecrets of one side. Each object has a result: on the tenant's side a copy of
 * the object, on the management side a Secret. A run compares only metadata. If the resourceVersion
 * of an object or of its result has changed since both were last in sync, the run reads the object
 * and takes one step. We store no content between two runs.
 */
import type { V1ObjectMeta } from "@kubernetes/client-node";
import type { Logger } from "pino";
import { ApiError } from "#kube/client/api-error.ts";
import { backoff } from "#kube/client/retry.ts";
import { Gate, inLanes } from "#kube/lanes.ts";
import { OthersObjects, type Excess } from "#kube/watch/others.ts";
import { sooner, type Again } from "#runtime/loop.ts";
import type { Metrics as AllMetrics, Result } from "./metrics.ts";
import { keptMetadata } from "./objects.ts";
import { Reconciler, waitSeconds } from "./reconcile.ts";
import { sentence } from "./rules/problems.ts";
import { Elsewhere, elsewhere, type Side } from "./side.ts";

/** Seconds until the next attempt after a conflict. */
const conflictSeconds = 0.5;

/**
 * How many objects one engine reads and writes at a time, and all engines of a process together.
 * The engines wait for their turns in one line, so a tenant with many changes delays an object of
 * another tenant by a few requests. An object with its content takes up to 11 MiB.
 */
const lanes = 4;
const lanesOfAll = 6;

/**
 * Milliseconds after which a run starts no further object, so that the next run can begin with the
 * objects that have changed meanwhile.
 */
const longestRun = 1000;

/**
 * Milliseconds without the other cluster after which the status of an object no longer shows its
 * Secret as it was.
 */
const longestAway = 600_000;

/** How many excesses an engine reports by name, since it began. */
const mostExcesses = 100;

type Metrics = Pick<AllMetrics, "looked">;
type Job = Readonly<{ metadata: V1ObjectMeta; result: V1ObjectMeta | undefined }>;

export const newGate = (): Gate => new Gate(lanesOfAll);

export class Engine {
  readonly objects: OthersObjects;
  readonly results: OthersObjects;
  readonly #side: Side;
  readonly #log: Logger;
  readonly #metrics: Metrics;
  readonly #gate: Gate;
  readonly #reconciler: Reconciler;
  readonly #excesses = new Set<string>();
  /** UID of a result whose object is missing → when we noticed this, by performance.now(). */
  readonly #orphans = new Map<string | undefined, number>();
  /** Since when the results cannot be listed, by performance.now(). */
  #awaySince: number | undefined;

  constructor(side: Side, log: Logger, metrics: Metrics, gate = newGate()) {
    [this.#side, this.#log, this.#metrics, this.#gate] = [side, log, metrics, gate];
    this.#reconciler = new Reconciler(side, log);
    const followed = (cluster: Side["to"], path: string) =>
      new OthersObjects({
        cluster,
        path,
        keep: keptMetadata,
        exceeded: (excess) => void this.#exceeded(path, excess),
      });
    this.objects = followed(side.from, side.objects);
    this.results = followed(side.to, side.results);
  }

  /**
   * Reconciles the objects that are not in sync, as many as a second allows. Rejects if one of the
   * two collections cannot be read. False while their watches begin, so nothing is read yet.
   */
  async run(): Promise<Again | undefined | false> {
    const { from, to, prepare } = this.#side;
    await prepare?.();
    const all = await this.objects.all();
    if (all === undefined) return false;
    const uids = new Set(all.map(({ uid }) => uid));
    this.#reconciler.keep(uids);
    const existing = await elsewhere(this.results.all()).catch(async (error: unknown) => {
      if (error instanceof Elsewhere && from !== to) await this.#reportAway(all, error);
      throw error;
    });
    if (existing === undefined) return false;
    this.#awaySince = undefined;
    // A result whose object is only left out is in use.
    let again = this.objects.isWhole ? await this.#collect(existing, uids) : undefined;
    const byName = new Map(existing.map((result) => [result.name, result]));
    const jobs: Job[] = [];
    for (const metadata of all) {
      const job = { metadata, result: byName.get(metadata.uid) };
      const wait = this.#waitOf(job);
      if (wait === 0) jobs.push(job);
      else again = sooner(again, wait === undefined ? undefined : { seconds: wait });
    }
    const end = performance.now() + longestRun;
    await inLanes(this.#inOrder(jobs), lanes, async (job) => {
      const next = await this.#gate.run(async () =>
        performance.now() < end ? await this.#serve(job) : { seconds: 0 },
      );
      again = sooner(again, next);
    });
    return again;
  }

  /**
   * First the objects that were in sync, because users wait for a change of them. Then those that
   * this process has not read for the longest time.
   */
  #inOrder(jobs: readonly Job[]): readonly Job[] {
    const rank = ({ metadata }: Job) => {
      const { seen, readAt } = this.#reconciler.recordOf(metadata);
      return seen === "" ? readAt : -1;
    };
    return jobs.toSorted((job, other) => rank(job) - rank(other));
  }

  /** Seconds until the object is due. 0: now. Undefined: when a version changes. */
  #waitOf({ metadata, result }: Job): number | undefined {
    const { seen, failed, recheckAt } = this.#reconciler.recordOf(metadata);
    const at = this.#reconciler.versions(metadata, result);
    // We use a monotonic clock, because the system clock can be set back.
    const now = performance.now();
    if (seen === at) return recheckAt && Math.max(0, recheckAt - now) / 1000;
    return failed?.at === at && now < failed.next ? (failed.next - now) / 1000 : 0;
  }

  /**
   * Deletes results without an object, such as those that remained when we gave up a deletion.
   * Waits `deadline` seconds first: while a backup is restored, objects come back one by one, and
   * we must not delete a Secret in use before its object is back.
   */
  async #collect(
    existing: readonly V1ObjectMeta[],
    uids: ReadonlySet<string | undefined>,
  ): Promise<Again | undefined> {
    const { to, results, isOwn, noun, propagation, deadline = 0 } = this.#side;
    const orphans = existing.filter(
      (result) =>
        !uids.has(result.name) &&
        result.deletionTimestamp === undefined &&
        isOwn?.(result) === true,
    );
    const present = new Set(orphans.map(({ uid }) => uid));
    for (const uid of this.#orphans.keys()) if (!present.has(uid)) this.#orphans.delete(uid);
    let again: Again | undefined;
    for (const { name = "", uid = "", resourceVersion } of orphans) {
      const now = performance.now();
      const since = this.#orphans.get(uid);
      if (since === undefined) {
        this.#orphans.set(uid, now);
        const message = `a ${noun} without its object will be deleted unless the object comes back`;
        this.#log.warn({ made: name, seconds: deadline }, message);
      }
      const wait = (since ?? now) + deadline * 1000 - now;
      if (wait > 0) {
        again = sooner(again, { seconds: wait / 1000 });
        continue;
      }
      try {
        await to.remove(`${results}/${name}`, uid, resourceVersion, propagation);
        this.#log.info({ made: name }, `a ${noun} that was left behind is deleted`);
      } catch (error) {
        this.#log.warn({ made: name, error: (error as Error).message }, "not deleted");
        again = sooner(again, { seconds: waitSeconds });
      }
    }
    return again;
  }

  /**
   * Reconciles one object. Never rejects, so that an object that fails does not delay the others.
   */
  async #serve({ metadata, result }: Job): Promise<Again | undefined> {
    const record = this.#reconciler.recordOf(metadata);
    const at = this.#reconciler.versions(metadata, result);
    if (metadata.deletionTimestamp === undefined && this.#side.isCopy?.(metadata) === true) {
      record.seen = at;
      await this.#reconciler.refuseCopy(metadata);
      return undefined;
    }
    const { failed } = record;
    const { namespace = "", name } = metadata;
    const started = performance.now();
    const count = (outcome: Result) =>
      this.#metrics.looked(namespace, outcome, (performance.now() - started) / 1000);
    try {
      const again = await this.#reconciler.look(metadata, result);
      // After a write, `again.seconds` is 0. The write counts as a success only when the next read
      // confirms it.
      if (again?.seconds !== 0) record.failed = undefined;
      count("success");
      return again;
    } catch (error) {
      if (error instanceof ApiError && error.status === 409) {
        count("conflict");
        this.#log.debug({ namespace, name }, "changed meanwhile; reading it again");
        return { seconds: conflictSeconds };
      }
      count("error");
      const times = (failed?.times ?? 0) + 1;
      this.#log.error({ namespace, name, times, error: (error as Error).message }, "failed");
      if (error instanceof Elsewhere) {
        if (await this.#reconciler.ended(metadata, error.outcome)) return undefined;
      }
      const pause = backoff(times);
      // After a write that admission changed, the result has a new version, which must not end the
      // pause after this failure.
      const written = error instanceof Elsewhere ? error.written : undefined;
      record.failed = {
        at: written ? this.#reconciler.versions(metadata, written) : at,
        times,
        next: performance.now() + pause,
      };
      return { seconds: pause / 1000 };
    }
  }

  /**
   * Reports on each object that the other cluster cannot be read: after ten minutes, or at once if
   * it refuses our token.
   */
  async #reportAway(all: readonly V1ObjectMeta[], { outcome }: Elsewhere): Promise<void> {
    const now = performance.now();
    this.#awaySince ??= now;
    const isLasting = outcome.reason !== "Unreachable" || now - this.#awaySince >= longestAway;
    await inLanes(all, lanes, (metadata) => this.#reconciler.away(metadata, outcome, isLasting));
  }

  /** Reports what is left out of a collection, each only once. */
  async #exceeded(path: string, excess: Excess): Promise<void> {
    const { exceeded } = this.#side;
    const about = `${path} ${excess.is} ${excess.is === "large" ? excess.name : ""}`;
    if (this.#excesses.has(about) || this.#excesses.size >= mostExcesses) return;
    this.#excesses.add(about);
    const message =
      excess.is === "large"
        ? sentence("metadata", excess.name)
        : excess.is === "many"
          ? sentence("tooManyObjects", String(excess.count))
          : sentence("tooFast");
    this.#log.warn({ path, excess: excess.is }, message);
    await exceeded?.(excess, message);
  }
}

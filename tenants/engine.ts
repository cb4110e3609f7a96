/**
 * Reconciles the SyncSecrets of one side. Each object has a result: on the tenant's side a copy of
 * the object, on the management side a Secret. A run lists only metadata. If the resourceVersion of
 * an object or of its result has changed since both were last in sync, the run reads the object and
 * takes one step. We store no content between two runs.
 */
import type { V1ObjectMeta } from "@kubernetes/client-node";
import type { Logger } from "pino";
import type { SyncSecret } from "#api/sync-secret.ts";
import { ApiError } from "#kube/client/api-error.ts";
import { conditionOf } from "#kube/conditions.ts";
import { Contest } from "#kube/contested-client.ts";
import { uidOf } from "#kube/client/ownership.ts";
import { backoff } from "#kube/client/retry.ts";
import { writeFinalizer } from "#runtime/finalizer.ts";
import { sooner, type Again } from "#runtime/loop.ts";
import { applyStatus, isSameStatus } from "#runtime/status.ts";
import type { Metrics, Result } from "./metrics.ts";
import { metadataOf, pathOf, readObject } from "./objects.ts";
import { checkedContent } from "./rules/content.ts";
import { sentence } from "./rules/problems.ts";
import { secretFields, statusOf, type Found } from "./rules/status.ts";
import { stepOf, replacement, type Live } from "./rules/step.ts";
import { Elsewhere, elsewhere, type Side } from "./side.ts";
import { syncManager, type Wanted } from "./rules/copies.ts";

/** Seconds until the next attempt after a conflict. */
const conflictSeconds = 0.5;
/** Seconds until we read a waiting object again, in case a watch has missed a change. */
const waitSeconds = 10;
/**
 * Limits how often we write the same content. Ten repairs in a row are normal. If an object always
 * needs more than one repair a minute, another client keeps undoing our writes.
 */
const writes = { perSecond: 1 / 60, atOnce: 10 };

/**
 * Shortest time, in milliseconds, for which a process tries to complete a deletion before it gives
 * up, even if the process starts after the deadline.
 */
const leastTrial = 60_000;
/** Finalizers that Kubernetes' garbage collector adds and removes itself. */
const collectors: ReadonlySet<string> = new Set(["foregroundDeletion", "orphan"]);

/** What we store about an object between runs: versions, but no content. */
type ObjectRecord = {
  /** The versions of the object and of its result when they were last in sync. */
  seen: string;
  failed: Readonly<{ at: string; times: number; next: number }> | undefined;
  /**
   * Counts the writes of each generation separately, so that we write each change by a user at
   * once.
   */
  contest: Contest<number>;
  /** When this process noticed the deletion, by performance.now(). */
  leaving: number | undefined;
  /** The generation for which we have reported in status that the object is a copy. */
  refused: number | undefined;
};

export class Engine {
  readonly #side: Side;
  readonly #log: Logger;
  readonly #metrics: Metrics;
  readonly #records = new Map<string, ObjectRecord>();
  /** UID of a result whose object is missing → when we noticed this, by performance.now(). */
  readonly #orphans = new Map<string | undefined, number>();

  constructor(side: Side, log: Logger, metrics: Metrics) {
    this.#side = side;
    this.#log = log;
    this.#metrics = metrics;
  }

  /** Reconciles every object once. Rejects if one of the two collections cannot be listed. */
  async run(): Promise<Again | undefined> {
    const { from, objects, to, results, prepare } = this.#side;
    await prepare?.();
    const all = await metadataOf(from, objects);
    const uids = new Set(all.map(({ uid }) => uid));
    for (const uid of this.#records.keys()) if (!uids.has(uid)) this.#records.delete(uid);
    const existing = await elsewhere(metadataOf(to, results)).catch(async (error: unknown) => {
      if (error instanceof Elsewhere && from !== to) await this.#reportAll(all, error);
      throw error;
    });
    let again = await this.#collect(existing, uids);
    const byName = new Map(existing.map((result) => [result.name, result]));
    for (const metadata of all)
      again = sooner(again, await this.#serve(metadata, byName.get(metadata.uid)));
    return again;
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
    const { to, results, isOwn, noun, propagation, deadline } = this.#side;
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
  async #serve(
    metadata: V1ObjectMeta,
    result: V1ObjectMeta | undefined,
  ): Promise<Again | undefined> {
    const record = this.#recordOf(metadata);
    const at = this.#versions(metadata, result);
    if (record.seen === at) return undefined;
    if (metadata.deletionTimestamp === undefined && this.#side.isCopy?.(metadata) === true) {
      record.seen = at;
      await this.#refuseCopy(metadata, record);
      return undefined;
    }
    const { failed } = record;
    // We use a monotonic clock, because the system clock can be set back.
    const now = performance.now();
    if (failed?.at === at && now < failed.next) return { seconds: (failed.next - now) / 1000 };
    const { namespace = "", name } = metadata;
    const started = performance.now();
    const count = (result: Result) =>
      this.#metrics.looked(namespace, result, (performance.now() - started) / 1000);
    try {
      const again = await this.#look(metadata, result);
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
        if (await this.#ended(metadata, error.outcome)) return undefined;
      }
      const pause = backoff(times);
      // After a write that admission changed, the result has a new version, which must not end the
      // pause after this failure.
      const written = error instanceof Elsewhere ? error.written : undefined;
      record.failed = {
        at: written ? this.#versions(metadata, written) : at,
        times,
        next: performance.now() + pause,
      };
      return { seconds: pause / 1000 };
    }
  }

  /**
   * Reports in status that we do not copy a copy. Reports this only once, because the management
   * side then writes the correct status.
   */
  async #refuseCopy(metadata: V1ObjectMeta, record: ObjectRecord): Promise<void> {
    const { namespace, name, generation } = metadata;
    if (record.refused === generation) return;
    record.refused = generation;
    const message = sentence("copied");
    this.#log.warn({ namespace, name }, message);
    const object = await readObject(this.#side.from, metadata).catch(() => undefined);
    if (object !== undefined)
      await this.#writeStatus(object, { reason: "Copied", message }).catch(() => undefined);
  }

  async #look(
    metadata: V1ObjectMeta,
    result: V1ObjectMeta | undefined,
  ): Promise<Again | undefined> {
    const { from, to, finalizer, noun, resultOf, isOurs, describe } = this.#side;
    const syncSecret = await readObject(from, metadata);
    if (syncSecret === undefined) return undefined;
    if (syncSecret.metadata.deletionTimestamp !== undefined) return await this.#leave(syncSecret);
    const object =
      finalizer === undefined
        ? syncSecret
        : await this.#writeFinalizer(syncSecret, finalizer, true);
    const judged = checkedContent(object);
    if (!judged.ok)
      return await this.#report(object, result, {
        reason: "Invalid",
        message: judged.message,
      });
    const desired = resultOf(object, judged.content);
    const path = this.#pathOf(object);
    const live = result && (await elsewhere(to.get<Live>(path)));
    const step = stepOf(live, desired, live !== undefined && isOurs(live.metadata, uidOf(object)));
    if (step === "nothing")
      return await this.#report(object, live?.metadata, describe(live ?? syncSecret));
    if (step === "foreign")
      return await this.#report(object, live?.metadata, {
        reason: "Foreign",
        message: sentence("foreign", `${desired.kind} ${desired.metadata.name}`),
      });
    if (step === "wait") return { seconds: waitSeconds };
    const { namespace, name, generation } = object.metadata;
    const { contest } = this.#recordOf(object.metadata);
    if (contest.lostUntil(generation, performance.now()) !== undefined)
      throw new Elsewhere({ reason: "Refused", message: sentence("undone", noun) });
    await make(this.#side, step, live, desired);
    if (step !== "recreate") contest.wrote(generation, performance.now());
    this.#log.info({ namespace, name, made: desired.metadata.name, step }, done[step](this.#side));
    return { seconds: 0 };
  }

  /**
   * Deletes the result of a deleted object, and removes our finalizer only after the result is
   * gone.
   */
  async #leave(object: SyncSecret): Promise<Again | undefined> {
    const { to, finalizer, isOurs, noun, propagation } = this.#side;
    // Without a finalizer, the garbage collector deletes the result.
    if (finalizer === undefined) return await this.#release(object);
    if (object.metadata.finalizers?.includes(finalizer) !== true) return undefined;
    const path = this.#pathOf(object);
    const { namespace, name } = object.metadata;
    const live = await elsewhere(to.get<Live>(path, { as: "metadata" }));
    if (live === undefined || !isOurs(live.metadata, uidOf(object))) {
      await this.#writeFinalizer(object, finalizer, false);
      this.#log.info({ namespace, name }, `cleaned up: the ${noun} is gone`);
      return undefined;
    }
    if (live.metadata.deletionTimestamp === undefined) {
      await elsewhere(to.remove(path, live.metadata.uid ?? "", undefined, propagation));
      this.#log.info({ namespace, name, made: live.metadata.name }, `the ${noun} is deleted`);
    }
    const message = `deleted when the ${noun} is gone`;
    if (await this.#giveUp(object.metadata, `the ${noun} is not gone`)) return undefined;
    await this.#writeStatus(object, { reason: "Leaving", message });
    return { seconds: 1 };
  }

  /** Removes foreign finalizers from a deleted copy after the deadline. */
  async #release(object: SyncSecret): Promise<Again | undefined> {
    const { leftBehind } = this.#side;
    const { metadata } = object;
    const planted = (metadata.finalizers ?? []).filter((finalizer) => !collectors.has(finalizer));
    const [first] = planted;
    if (first === undefined) return undefined;
    if (!this.#isOverdue(metadata)) return { seconds: waitSeconds };
    let current = object;
    for (const finalizer of planted)
      current = await this.#writeFinalizer(current, finalizer, false);
    const message = sentence("planted", first);
    this.#log.warn({ namespace: metadata.namespace, name: metadata.name }, message);
    await leftBehind?.(metadata, message);
    return undefined;
  }

  /**
   * After the deadline, removes our finalizer, even though the result might still exist. Returns
   * true if the object no longer has our finalizer.
   */
  async #giveUp(metadata: V1ObjectMeta, why: string): Promise<boolean> {
    const { from, finalizer, leftBehind } = this.#side;
    if (finalizer === undefined || !this.#isOverdue(metadata)) return false;
    const object = await readObject(from, metadata);
    if (object === undefined) return true;
    await this.#writeFinalizer(object, finalizer, false);
    const message = sentence("leftBehind", why);
    this.#log.warn({ namespace: metadata.namespace, name: metadata.name }, message);
    await leftBehind?.(metadata, message);
    return true;
  }

  /**
   * Called when an object failed. If the object is being deleted and is overdue, gives it up and
   * returns true. If not, writes the reason to the object's status, if possible, and returns false.
   */
  async #ended(metadata: V1ObjectMeta, outcome: Found): Promise<boolean> {
    const ended = await this.#giveUp(metadata, outcome.message).catch((error: Error) => {
      const { namespace, name } = metadata;
      this.#log.warn({ namespace, name, error: error.message }, "its finalizer stays");
      return false;
    });
    if (!ended) await this.#reportOf(metadata, outcome);
    return ended;
  }

  #isOverdue(metadata: V1ObjectMeta): boolean {
    if (metadata.deletionTimestamp === undefined) return false;
    const record = this.#recordOf(metadata);
    const now = performance.now();
    record.leaving ??= now;
    const since = new Date(metadata.deletionTimestamp).getTime();
    return Date.now() >= since + this.#side.deadline * 1000 && now - record.leaving >= leastTrial;
  }

  /**
   * Writes `outcome` to status, and records the present versions. We skip the object until a
   * version changes.
   */
  async #report(
    object: SyncSecret,
    result: V1ObjectMeta | undefined,
    outcome: Found,
  ): Promise<Again | undefined> {
    const written = await this.#writeStatus(object, outcome);
    this.#recordOf(object.metadata).seen = this.#versions(written.metadata, result);
    return outcome.reason === "Waiting" ? { seconds: waitSeconds } : undefined;
  }

  async #writeFinalizer(
    object: SyncSecret,
    finalizer: string,
    isPresent: boolean,
  ): Promise<SyncSecret> {
    return await writeFinalizer(
      this.#side.from,
      pathOf(object.metadata),
      object,
      finalizer,
      isPresent,
    );
  }

  async #writeStatus(object: SyncSecret, outcome: Found): Promise<SyncSecret> {
    const { namespace, name, generation = 0 } = object.metadata;
    const whole = { ...secretFields(object), ...outcome, warning: this.#side.warning?.() };
    const status = statusOf(whole, generation, new Date(), object.status);
    if (isSameStatus(status, object.status)) return object;
    // The version after this write counts as seen, so it must contain no change that we missed.
    const written = await applyStatus(
      { cluster: this.#side.from, path: pathOf, manager: `${syncManager}-status` },
      object,
      status,
      object.metadata.resourceVersion,
    );
    const level = outcome.reason === "Synced" || outcome.reason === "Waiting" ? "info" : "warn";
    const text = outcome.reason === "Synced" ? "in sync" : outcome.message;
    this.#log[outcome.reason === "Leaving" ? "info" : level](
      { namespace, name, reason: outcome.reason, secret: outcome.secretName },
      text,
    );
    return written;
  }

  /** Reports a failure in status, if possible. The log already contains the failure. */
  async #reportOf(metadata: V1ObjectMeta, outcome: Found): Promise<void> {
    try {
      const object = await readObject(this.#side.from, metadata);
      const ready = conditionOf(object?.status, "Ready");
      const current = ready?.observedGeneration === object?.metadata.generation;
      const isCurrent = object?.metadata.deletionTimestamp === undefined && current;
      // While the other cluster is unreachable, we do not change the status of an object in sync,
      // because its Secret is still correct.
      if (object === undefined || (outcome.reason === "Unreachable" && isCurrent)) return;
      await this.#writeStatus(object, outcome);
    } catch (error) {
      const { namespace, name } = metadata;
      this.#log.debug({ namespace, name, error: (error as Error).message }, "status not written");
    }
  }

  async #reportAll(all: readonly V1ObjectMeta[], { outcome }: Elsewhere): Promise<void> {
    for (const metadata of all) await this.#ended(metadata, outcome);
  }

  #pathOf({ metadata }: SyncSecret): string {
    return `${this.#side.results}/${metadata.uid}`;
  }

  #versions(object: V1ObjectMeta, result: V1ObjectMeta | undefined): string {
    const warning = this.#side.warning?.() ?? "";
    return `${object.resourceVersion} ${result?.resourceVersion ?? ""} ${warning}`;
  }

  #recordOf({ uid = "" }: V1ObjectMeta): ObjectRecord {
    const record = this.#records.get(uid) ?? {
      seen: "",
      failed: undefined,
      contest: new Contest<number>(writes, Object.is),
      leaving: undefined,
      refused: undefined,
    };
    this.#records.set(uid, record);
    return record;
  }
}

const done: Readonly<Record<Writing, (side: Side) => string>> = {
  create: ({ noun }) => `the ${noun} is created`,
  update: ({ noun }) => `the ${noun} is updated`,
  recreate: ({ noun }) => `the ${noun} cannot be changed: it is deleted, and created again`,
};

type Writing = "create" | "update" | "recreate";

/**
 * Takes the step. Throws Elsewhere if the API server refuses the write, or if its reply differs
 * from our object. In the second case, admission changes our object at every write.
 */
async function make(
  { to, results, noun, propagation }: Side,
  step: Writing,
  live: Live | undefined,
  desired: Wanted,
): Promise<void> {
  const path = `${results}/${desired.metadata.name}`;
  if (step === "recreate")
    return await elsewhere(
      to.remove(path, live?.metadata.uid ?? "", live?.metadata.resourceVersion, propagation),
    );
  const reply = await (live === undefined
    ? elsewhere(to.create<Live>(results, desired))
    : elsewhere(to.replace<Live>(path, replacement(live, desired))));
  if (stepOf(reply, desired, true) === "nothing") return;
  const outcome = { reason: "Refused", message: sentence("changed", noun) } as const;
  throw new Elsewhere(outcome, { written: reply.metadata });
}

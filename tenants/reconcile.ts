/**
 * Brings one SyncSecret one step closer to its result: on the tenant's side a copy of the object,
 * on the management side a Secret.
 */
import type { V1ObjectMeta } from "@kubernetes/client-node";
import type { Logger } from "pino";
import type { SyncSecret } from "#api/sync-secret.ts";
import { copyStep, desiredOf, isWrite, liveCopy, type WriteStep } from "#kube/apply/copy.ts";
import { ChangedByAdmission, place } from "#kube/apply/place.ts";
import { conditionOf } from "#kube/conditions.ts";
import { Contest } from "#kube/contested-client.ts";
import { uidOf } from "#kube/client/ownership.ts";
import { writeFinalizer } from "#runtime/finalizer.ts";
import type { Again } from "#runtime/loop.ts";
import { applyStatus, isSameStatus } from "#runtime/status.ts";
import { pathOf, readObject } from "./objects.ts";
import { checkedContent } from "./rules/content.ts";
import { sentence } from "./rules/problems.ts";
import { secretFields, statusOf, type Found } from "./rules/status.ts";
import { Elsewhere, elsewhere, type Side } from "./side.ts";
import { syncManager } from "./rules/copies.ts";

/** Seconds until we read a waiting object again, in case a watch has missed a change. */
export const waitSeconds = 10;
/**
 * Limits how often we write the same content. Ten repairs in a row are normal. If an object always
 * needs more than one repair a minute, another client keeps undoing our writes.
 */
const writes = { perSecond: 1 / 60, atOnce: 10 };

/** Milliseconds between two reads of a Secret that a SyncSecret names. */
const recheckMilliseconds = 60_000;

/**
 * Shortest time, in milliseconds, for which a process tries to complete a deletion before it gives
 * up, even if the process starts after the deadline.
 */
const leastTrial = 60_000;
/** What we store about an object between runs: versions, but no content. */
type ObjectRecord = {
  /** The versions of the object and of its result when they were last in sync. */
  seen: string;
  failed: Readonly<{ at: string; times: number; next: number }> | undefined;
  /** When to read the object again, because it names a Secret that we do not watch. */
  recheckAt: number | undefined;
  /** When this process last read the object, by performance.now(). */
  readAt: number;
  /**
   * Counts the writes of each generation separately, so that we write each change by a user at
   * once.
   */
  contest: Contest<number>;
  /** When this process noticed the deletion, by performance.now(). */
  leaving: number | undefined;
  /** Whether this process has reported that the result is left behind. */
  isLeftBehind: boolean;
  /** The generation for which we have reported in status that the object is a copy. */
  refused: number | undefined;
  /** The generation that status is about, since this process wrote it. */
  reported: number | undefined;
  /** What we reported while the other cluster was away, so that we do not report it again. */
  away: string;
};

export class Reconciler {
  readonly #side: Side;
  readonly #log: Logger;
  readonly #records = new Map<string, ObjectRecord>();

  constructor(side: Side, log: Logger) {
    this.#side = side;
    this.#log = log;
  }

  /** Forgets every object that is not one of these. */
  keep(uids: ReadonlySet<string | undefined>): void {
    for (const uid of this.#records.keys()) if (!uids.has(uid)) this.#records.delete(uid);
  }

  recordOf({ uid = "" }: V1ObjectMeta): ObjectRecord {
    const record = this.#records.get(uid) ?? {
      seen: "",
      failed: undefined,
      recheckAt: undefined,
      readAt: 0,
      contest: new Contest<number>(writes, Object.is),
      leaving: undefined,
      isLeftBehind: false,
      refused: undefined,
      reported: undefined,
      away: "",
    };
    this.#records.set(uid, record);
    return record;
  }

  versions(object: V1ObjectMeta, result: V1ObjectMeta | undefined): string {
    const warning = this.#side.warning?.() ?? "";
    return `${object.resourceVersion} ${result?.resourceVersion ?? ""} ${warning}`;
  }

  /**
   * Reports in status that we do not copy a copy. Reports this only once, because the management
   * side then writes the correct status.
   */
  async refuseCopy(metadata: V1ObjectMeta): Promise<void> {
    const { namespace, name, generation } = metadata;
    const record = this.recordOf(metadata);
    if (record.refused === generation) return;
    record.refused = generation;
    const message = sentence("copied");
    this.#log.warn({ namespace, name }, message);
    const object = await readObject(this.#side.from, metadata).catch(() => undefined);
    if (object !== undefined)
      await this.#writeStatus(object, { reason: "Copied", message }).catch(() => undefined);
  }

  /** Takes the next step. `again.seconds` is 0 after a write: the next read confirms it. */
  async look(metadata: V1ObjectMeta, result: V1ObjectMeta | undefined): Promise<Again | undefined> {
    const { from, to, results, finalizer, noun, propagation } = this.#side;
    const { resultOf, isOurs, describe, referenced } = this.#side;
    this.recordOf(metadata).readAt = performance.now();
    const syncSecret = await readObject(from, metadata);
    if (syncSecret === undefined) return undefined;
    if (syncSecret.metadata.deletionTimestamp !== undefined) return await this.#leave(syncSecret);
    const object =
      finalizer === undefined
        ? syncSecret
        : await this.#writeFinalizer(syncSecret, finalizer, true);
    const { secretRef } = object;
    const declared = secretRef && referenced ? await referenced(object, secretRef) : object;
    const judged =
      typeof declared === "string"
        ? { ok: false as const, message: declared }
        : checkedContent(declared);
    if (!judged.ok)
      return await this.#report(object, result, {
        reason: "Invalid",
        message: judged.message,
      });
    const copy = resultOf(object, judged.content);
    const desired = desiredOf(copy);
    const path = this.#pathOf(object);
    const stored = result && (await elsewhere(to.get<SyncSecret>(path)));
    const live = stored && liveCopy(stored);
    const isOwn = stored !== undefined && isOurs(stored.metadata, uidOf(object));
    const step = copyStep(live, desired, isOwn);
    if (live !== undefined && step === "nothing")
      return await this.#report(object, live.metadata, describe(live));
    const { kind, metadata: its } = copy;
    if (step === "foreign")
      return await this.#report(object, live?.metadata, {
        reason: "Foreign",
        message: sentence("foreign", `${kind} ${its.name}`),
      });
    if (!isWrite(step)) return { seconds: waitSeconds };
    const { namespace, name, generation } = object.metadata;
    const { contest } = this.recordOf(object.metadata);
    if (contest.lostUntil(generation, performance.now()) !== undefined)
      throw new Elsewhere({ reason: "Refused", message: sentence("undone", noun) });
    const how = { manager: syncManager, collection: results, propagation };
    await elsewhere(place(to, step, { ...how, live, desired })).catch((error: unknown) => {
      if (!(error instanceof ChangedByAdmission)) throw error;
      const outcome = { reason: "Refused", message: sentence("changed", noun) } as const;
      throw new Elsewhere(outcome, { written: error.written });
    });
    contest.wrote(generation, performance.now());
    this.#log.info({ namespace, name, made: its.name, step }, `the ${noun} ${done[step]}`);
    return { seconds: 0 };
  }

  /**
   * Deletes the result of a deleted object, and removes our finalizer only after the result is
   * gone.
   */
  async #leave(object: SyncSecret): Promise<Again | undefined> {
    const { to, finalizer, isOurs, noun, propagation } = this.#side;
    // Without a finalizer, the garbage collector deletes the result.
    if (finalizer === undefined || object.metadata.finalizers?.includes(finalizer) !== true)
      return undefined;
    const path = this.#pathOf(object);
    const { namespace, name } = object.metadata;
    const live = await elsewhere(to.get<SyncSecret>(path, { as: "metadata" }));
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
    const record = this.recordOf(metadata);
    // Another finalizer holds the object.
    if (record.isLeftBehind) return true;
    record.isLeftBehind = true;
    const message = sentence("leftBehind", why);
    this.#log.warn({ namespace: metadata.namespace, name: metadata.name }, message);
    await leftBehind?.(metadata, message);
    return true;
  }

  /**
   * Called for each object while the other collection cannot be read. Reads an object only if its
   * status must change, or if it is being deleted and overdue. `isLasting`: its status is no longer
   * true, although nothing has changed here.
   */
  async away(metadata: V1ObjectMeta, outcome: Found, isLasting: boolean): Promise<void> {
    const record = this.recordOf(metadata);
    const about = `${metadata.generation} ${isLasting} ${outcome.reason}`;
    const isReported =
      record.away === about || (!isLasting && record.reported === metadata.generation);
    if (isReported && !this.#isOverdue(metadata)) return;
    if (!(await this.ended(metadata, outcome, isLasting))) record.away = about;
  }

  /**
   * Called when an object failed. If the object is being deleted and is overdue, gives it up and
   * returns true. If not, writes the reason to the object's status, if possible, and returns false.
   */
  async ended(metadata: V1ObjectMeta, outcome: Found, isLasting = false): Promise<boolean> {
    const ended = await this.#giveUp(metadata, outcome.message).catch((error: Error) => {
      const { namespace, name } = metadata;
      this.#log.warn({ namespace, name, error: error.message }, "its finalizer stays");
      return false;
    });
    if (!ended) await this.#reportOf(metadata, outcome, isLasting);
    return ended;
  }

  #isOverdue(metadata: V1ObjectMeta): boolean {
    if (metadata.deletionTimestamp === undefined) return false;
    const record = this.recordOf(metadata);
    const now = performance.now();
    record.leaving ??= now;
    const since = new Date(metadata.deletionTimestamp).getTime();
    const { deadline = 0 } = this.#side;
    return Date.now() >= since + deadline * 1000 && now - record.leaving >= leastTrial;
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
    const record = this.recordOf(object.metadata);
    record.seen = this.versions(written.metadata, result);
    record.reported = object.metadata.generation;
    record.away = "";
    record.recheckAt =
      object.secretRef === undefined ? undefined : performance.now() + recheckMilliseconds;
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
  async #reportOf(metadata: V1ObjectMeta, outcome: Found, isLasting: boolean): Promise<void> {
    try {
      const object = await readObject(this.#side.from, metadata);
      const ready = conditionOf(object?.status, "Ready");
      const current = ready?.observedGeneration === object?.metadata.generation;
      const isCurrent = object?.metadata.deletionTimestamp === undefined && current;
      // While the other cluster is unreachable for a moment, we do not change the status of an
      // object in sync, because its Secret is still correct.
      const isKept = outcome.reason === "Unreachable" && isCurrent && !isLasting;
      if (object === undefined || isKept) return;
      await this.#writeStatus(object, outcome);
    } catch (error) {
      const { namespace, name } = metadata;
      this.#log.debug({ namespace, name, error: (error as Error).message }, "status not written");
    }
  }

  #pathOf({ metadata }: SyncSecret): string {
    return `${this.#side.results}/${metadata.uid}`;
  }
}

const done: Readonly<Record<WriteStep, string>> = {
  create: "is created",
  update: "is updated",
  recreate: "cannot be changed: it is deleted, and created again",
};

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
import { judge } from "./rules/content.ts";
import { sentence } from "./rules/problems.ts";
import { statusOf, type Found } from "./rules/status.ts";
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
type Known = {
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
  readonly #known = new Map<string, Known>();
  /** UID of a result whose object is missing → when we noticed this, by performance.now(). */
  readonly #orphans = new Map<string | undefined, number>();

  constructor(side: Side, log: Logger, metrics: Metrics) {
    this.#side = side;
    this.#log = log;
    this.#metrics = metrics;
  }

  /** Reconciles every object once. Rejects if one of the two collections cannot be listed. */
  async run(): Promise<Again | undefined> {
    const { from, objects, to, made, prepare } = this.#side;
    await prepare?.();
    const all = await metadataOf(from, objects);
    const uids = new Set(all.map(({ uid }) => uid));
    for (const uid of this.#known.keys()) if (!uids.has(uid)) this.#known.delete(uid);
    const there = await elsewhere(metadataOf(to, made)).catch(async (error: unknown) => {
      if (error instanceof Elsewhere && from !== to) await this.#reportAll(all, error);
      throw error;
    });
    let again = await this.#collect(there, uids);
    const byName = new Map(there.map((one) => [one.name, one]));
    for (const one of all) again = sooner(again, await this.#serve(one, byName.get(one.uid)));
    return again;
  }

  /**
   * Deletes results without an object, such as those that remained when we gave up a deletion.
   * Waits `deadline` seconds first: while a backup is restored, objects come back one by one, and
   * we must not delete a Secret in use before its object is back.
   */
  async #collect(
    there: readonly V1ObjectMeta[],
    uids: ReadonlySet<string | undefined>,
  ): Promise<Again | undefined> {
    const { to, made, isOwn, noun, propagation, deadline } = this.#side;
    const left = there.filter(
      (one) => !uids.has(one.name) && one.deletionTimestamp === undefined && isOwn?.(one) === true,
    );
    const present = new Set(left.map(({ uid }) => uid));
    for (const uid of this.#orphans.keys()) if (!present.has(uid)) this.#orphans.delete(uid);
    let again: Again | undefined;
    for (const { name = "", uid = "", resourceVersion } of left) {
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
        await to.remove(`${made}/${name}`, uid, resourceVersion, propagation);
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
  async #serve(metadata: V1ObjectMeta, made: V1ObjectMeta | undefined): Promise<Again | undefined> {
    const known = this.#knownOf(metadata);
    const at = this.#versions(metadata, made);
    if (known.seen === at) return undefined;
    if (metadata.deletionTimestamp === undefined && this.#side.isCopy?.(metadata) === true) {
      known.seen = at;
      await this.#refuseCopy(metadata, known);
      return undefined;
    }
    const { failed } = known;
    // We use a monotonic clock, because the system clock can be set back.
    const now = performance.now();
    if (failed?.at === at && now < failed.next) return { seconds: (failed.next - now) / 1000 };
    const { namespace = "", name } = metadata;
    const started = performance.now();
    const count = (result: Result) =>
      this.#metrics.looked(namespace, result, (performance.now() - started) / 1000);
    try {
      const again = await this.#look(metadata, made);
      // After a write, `again.seconds` is 0. The write counts as a success only when the next read
      // confirms it.
      if (again?.seconds !== 0) known.failed = undefined;
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
        if (await this.#ended(metadata, error.found)) return undefined;
      }
      const pause = backoff(times);
      // After a write that admission changed, the result has a new version, which must not end the
      // pause after this failure.
      const left = error instanceof Elsewhere ? error.left : undefined;
      known.failed = {
        at: left ? this.#versions(metadata, left) : at,
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
  async #refuseCopy(metadata: V1ObjectMeta, known: Known): Promise<void> {
    const { namespace, name, generation } = metadata;
    if (known.refused === generation) return;
    known.refused = generation;
    const message = sentence("copied");
    this.#log.warn({ namespace, name }, message);
    const object = await readObject(this.#side.from, metadata).catch(() => undefined);
    if (object !== undefined)
      await this.#writeStatus(object, { reason: "Copied", message }).catch(() => undefined);
  }

  async #look(metadata: V1ObjectMeta, made: V1ObjectMeta | undefined): Promise<Again | undefined> {
    const { from, to, finalizer, noun, wanted: wantedOf, isOurs, describe } = this.#side;
    const found = await readObject(from, metadata);
    if (found === undefined) return undefined;
    if (found.metadata.deletionTimestamp !== undefined) return await this.#leave(found);
    const object =
      finalizer === undefined ? found : await this.#writeFinalizer(found, finalizer, true);
    const judged = judge(object);
    if (!judged.ok)
      return await this.#report(object, made, { reason: "Invalid", message: judged.message });
    const wanted = wantedOf(object, judged.content);
    const path = this.#pathOf(object);
    const live = made && (await elsewhere(to.get<Live>(path)));
    const step = stepOf(live, wanted, live !== undefined && isOurs(live.metadata, uidOf(object)));
    if (step === "nothing")
      return await this.#report(object, live?.metadata, describe(live ?? found));
    if (step === "foreign")
      return await this.#report(object, live?.metadata, {
        reason: "Foreign",
        message: sentence("foreign", `${wanted.kind} ${wanted.metadata.name}`),
      });
    if (step === "wait") return { seconds: waitSeconds };
    const { namespace, name, generation } = object.metadata;
    const { contest } = this.#knownOf(object.metadata);
    if (contest.lostUntil(generation, performance.now()) !== undefined)
      throw new Elsewhere({ reason: "Refused", message: sentence("undone", noun) });
    await make(this.#side, step, live, wanted);
    if (step !== "recreate") contest.wrote(generation, performance.now());
    this.#log.info({ namespace, name, made: wanted.metadata.name, step }, done[step](this.#side));
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
    const planted = (metadata.finalizers ?? []).filter((one) => !collectors.has(one));
    const [first] = planted;
    if (first === undefined) return undefined;
    if (!this.#isOverdue(metadata)) return { seconds: waitSeconds };
    let left = object;
    for (const one of planted) left = await this.#writeFinalizer(left, one, false);
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
  async #ended(metadata: V1ObjectMeta, found: Found): Promise<boolean> {
    const ended = await this.#giveUp(metadata, found.message).catch((error: Error) => {
      const { namespace, name } = metadata;
      this.#log.warn({ namespace, name, error: error.message }, "its finalizer stays");
      return false;
    });
    if (!ended) await this.#reportOf(metadata, found);
    return ended;
  }

  #isOverdue(metadata: V1ObjectMeta): boolean {
    if (metadata.deletionTimestamp === undefined) return false;
    const known = this.#knownOf(metadata);
    const now = performance.now();
    known.leaving ??= now;
    const since = new Date(metadata.deletionTimestamp).getTime();
    return Date.now() >= since + this.#side.deadline * 1000 && now - known.leaving >= leastTrial;
  }

  /**
   * Writes `found` to status, and records the present versions. We skip the object until a version
   * changes.
   */
  async #report(
    object: SyncSecret,
    made: V1ObjectMeta | undefined,
    found: Found,
  ): Promise<Again | undefined> {
    const written = await this.#writeStatus(object, found);
    this.#knownOf(object.metadata).seen = this.#versions(written.metadata, made);
    return found.reason === "Waiting" ? { seconds: waitSeconds } : undefined;
  }

  async #writeFinalizer(
    object: SyncSecret,
    finalizer: string,
    wanted: boolean,
  ): Promise<SyncSecret> {
    return await writeFinalizer(
      this.#side.from,
      pathOf(object.metadata),
      object,
      finalizer,
      wanted,
    );
  }

  async #writeStatus(object: SyncSecret, found: Found): Promise<SyncSecret> {
    const { namespace, name, generation = 0 } = object.metadata;
    const whole = { ...kept(object), ...found, warning: this.#side.warning?.() };
    const status = statusOf(whole, generation, new Date(), object.status);
    if (isSameStatus(status, object.status)) return object;
    const written = await applyStatus(
      { cluster: this.#side.from, path: pathOf, manager: `${syncManager}-status` },
      object,
      status,
    );
    const level = found.reason === "Synced" || found.reason === "Waiting" ? "info" : "warn";
    const text = found.reason === "Synced" ? "in sync" : found.message;
    this.#log[found.reason === "Leaving" ? "info" : level](
      { namespace, name, reason: found.reason, secret: found.secretName },
      text,
    );
    return written;
  }

  /** Reports a failure in status, if possible. The log already contains the failure. */
  async #reportOf(metadata: V1ObjectMeta, found: Found): Promise<void> {
    try {
      const object = await readObject(this.#side.from, metadata);
      const ready = conditionOf(object?.status, "Ready");
      const current = ready?.observedGeneration === object?.metadata.generation;
      const isCurrent = object?.metadata.deletionTimestamp === undefined && current;
      // While the other cluster is unreachable, we do not change the status of an object in sync,
      // because its Secret is still correct.
      if (object === undefined || (found.reason === "Unreachable" && isCurrent)) return;
      await this.#writeStatus(object, found);
    } catch (error) {
      const { namespace, name } = metadata;
      this.#log.debug({ namespace, name, error: (error as Error).message }, "status not written");
    }
  }

  async #reportAll(all: readonly V1ObjectMeta[], { found }: Elsewhere): Promise<void> {
    for (const metadata of all) await this.#ended(metadata, found);
  }

  #pathOf({ metadata }: SyncSecret): string {
    return `${this.#side.made}/${metadata.uid}`;
  }

  #versions(object: V1ObjectMeta, made: V1ObjectMeta | undefined): string {
    const warning = this.#side.warning?.() ?? "";
    return `${object.resourceVersion} ${made?.resourceVersion ?? ""} ${warning}`;
  }

  #knownOf({ uid = "" }: V1ObjectMeta): Known {
    const known = this.#known.get(uid) ?? {
      seen: "",
      failed: undefined,
      contest: new Contest<number>(writes, Object.is),
      leaving: undefined,
      refused: undefined,
    };
    this.#known.set(uid, known);
    return known;
  }
}

const done: Readonly<Record<Writing, (side: Side) => string>> = {
  create: ({ noun }) => `the ${noun} is created`,
  update: ({ noun }) => `the ${noun} is updated`,
  recreate: ({ noun }) => `the ${noun} cannot be changed: it is deleted, and created again`,
};

/** Name and version of the Secret in the old status, so that the new status contains them too. */
function kept({ status }: SyncSecret): Pick<Found, "secretName" | "resourceVersion"> {
  const { secretName, resourceVersion } = status ?? {};
  return {
    ...(secretName === undefined ? {} : { secretName }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
}

type Writing = "create" | "update" | "recreate";

/**
 * Takes the step. Throws Elsewhere if the API server refuses the write, or if its reply differs
 * from our object. In the second case, admission changes our object at every write.
 */
async function make(
  { to, made, noun, propagation }: Side,
  step: Writing,
  live: Live | undefined,
  wanted: Wanted,
): Promise<void> {
  const path = `${made}/${wanted.metadata.name}`;
  if (step === "recreate")
    return await elsewhere(
      to.remove(path, live?.metadata.uid ?? "", live?.metadata.resourceVersion, propagation),
    );
  const reply = await (live === undefined
    ? elsewhere(to.create<Live>(made, wanted))
    : elsewhere(to.replace<Live>(path, replacement(live, wanted))));
  if (stepOf(reply, wanted, true) === "nothing") return;
  const found = { reason: "Refused", message: sentence("changed", noun) } as const;
  throw new Elsewhere(found, { left: reply.metadata });
}

/**
 * Writes the status of one object of ours, with its own field manager, so that an apply of the
 * status removes no field of the spec, and an apply of the spec removes no field of the status.
 */
import type { KubernetesObject, V1ObjectMeta } from "@kubernetes/client-node";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { Allowance } from "#kube/allowance.ts";
import { backoff, later } from "#kube/client/retry.ts";

/** An object of ours, as the API server returns it. */
type Reported<Status> = KubernetesObject &
  Readonly<{ metadata: V1ObjectMeta; status?: Status | undefined }>;

/** Where a status is written, and as whom. */
export type StatusPlace = Readonly<{
  cluster: Pick<Cluster, "apply">;
  /** Path of the object. */
  path: (metadata: V1ObjectMeta) => string;
  manager: string;
}>;

/**
 * Writes the status at once, and returns the object. `resourceVersion`: if the object has another
 * version, the write fails with 409.
 */
export async function applyStatus<T extends Reported<Status>, Status>(
  { cluster, path, manager }: StatusPlace,
  { apiVersion, kind, metadata }: T,
  status: Status,
  resourceVersion?: string,
): Promise<T> {
  const { name, namespace, uid } = metadata;
  // The uid keeps the apply from creating an object that was deleted meanwhile.
  const body = { apiVersion, kind, metadata: { name, namespace, uid, resourceVersion }, status };
  return await cluster.apply<T>(`${path(metadata)}/status`, body, { manager, force: true });
}

/** True when two statuses differ at most in the order of lists, which an apply can change. */
export const isSameStatus = (status: unknown, other: unknown): boolean =>
  sorted(status) === sorted(other);

const sorted = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) => {
    if (typeof part !== "object" || part === null) return part;
    if (Array.isArray(part)) return part.map(sorted).toSorted();
    return Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }) ?? "";

/**
 * The pause between two writes. In a rollout the counts change several times a second, often for
 * hours.
 */
const pauseMilliseconds = 1000;

/**
 * Milliseconds. A watch can lag by seconds. After this time we trust the object that the watch
 * shows, even if it is older than the object that we wrote.
 */
const longestLag = 60_000;

/**
 * If another client overwrites the status, we write it again twenty times at once, and then once a
 * minute. Otherwise each of its writes would cause one of ours.
 */
const repairs = { perSecond: 1 / 60, atOnce: 20 };

type Options<Status> = StatusPlace &
  Readonly<{
    failed: (error: Error) => void;
    /** After it aborts, no further write begins. */
    signal?: AbortSignal;
    /** True if the shown status needs no write. A foreign object's status has more than ours. */
    isShown?: (shown: Status | undefined, ours: Status | undefined) => boolean;
    now?: () => number;
    pause?: (milliseconds: number) => Promise<void>;
  }>;

export type StatusWriter<T extends Reported<Status>, Status> = Readonly<{
  /** The last written status, by this process or the previous one. */
  before: (object: T) => Status | undefined;
  /** Queues a status. Returns at once and never fails. */
  write: (object: T, status: Status) => void;
  /** Resolves when no status waits. */
  idle: () => Promise<void>;
}>;

/**
 * Writes at most once a second, and only if the status changed or another client overwrote it.
 * Nothing waits for a write. A failed write affects nothing else, and is repeated with the status
 * that is then current.
 */
export function statusWriter<T extends Reported<Status>, Status>({
  failed,
  signal,
  isShown = isSameStatus,
  now = () => performance.now(),
  pause = later,
  ...place
}: Options<Status>): StatusWriter<T, Status> {
  /** `isRepair`: another client overwrote this status. */
  type Queued = Readonly<{ object: T; status: Status; isRepair: boolean }>;
  /** The status that is or will be written. Later statuses continue its times and counts. */
  let latest: Queued | undefined;
  let waiting: Queued | undefined;
  /**
   * The object after the last write, from the API server's answer, and the status that we sent: the
   * status in the answer can have parts of other clients.
   */
  let answered: Readonly<{ object: T; status: Status; at: number }> | undefined;
  let worker: Promise<void> | undefined;
  const allowance = new Allowance(repairs, now());

  async function work(): Promise<void> {
    let failures = 0;
    while (waiting !== undefined) {
      const { isRepair } = waiting;
      const wait = isRepair ? allowance.when(1, now()) - now() : 0;
      if (wait > 0) await pause(wait);
      if (signal?.aborted === true) return;
      // Another status might have been queued during the pause.
      const next: Queued = waiting;
      try {
        const object = await applyStatus<T, Status>(place, next.object, next.status);
        answered = { object, status: next.status, at: now() };
        failures = 0;
        if (isRepair) allowance.take(1, now());
        if (waiting === next) waiting = undefined;
        await pause(pauseMilliseconds);
      } catch (error) {
        if (isStale(error)) {
          if (waiting === next) latest = waiting = undefined;
          await pause(pauseMilliseconds);
          continue;
        }
        failures += 1;
        failed(error as Error);
        await pause(Math.max(pauseMilliseconds, backoff(failures)));
      }
    }
  }

  /** True if the live status is not ours: another client wrote it, or etcd was restored. */
  function isOverwritten({ metadata, status }: T): boolean {
    if (answered === undefined || waiting !== undefined) return false;
    const { object, status: ours, at } = answered;
    if (metadata.uid !== object.metadata.uid || isShown(status, ours)) return false;
    return isNewer(metadata, object.metadata) || now() - at > longestLag;
  }

  const before = ({ metadata, status }: T) =>
    latest !== undefined && latest.object.metadata.uid === metadata.uid ? latest.status : status;

  return {
    before,
    write(object, status) {
      const isRepair = isShown(before(object), status);
      if (isRepair && !isOverwritten(object)) return;
      latest = waiting = { object, status, isRepair };
      worker ??= work().finally(() => (worker = undefined));
    },
    idle: async () => worker,
  };
}

/**
 * True if the object is gone, was replaced, or another controller writes it. The next run will show
 * which of these is true. A webhook that denies the write can choose the same HTTP status.
 */
const isStale = (error: unknown): boolean =>
  error instanceof ApiError && [404, 409].includes(error.status) && !error.isDenial;

/** False if a version is not a number, which the API does not rule out. */
const isNewer = (object: V1ObjectMeta, other: V1ObjectMeta): boolean =>
  Number(object.resourceVersion ?? 0) > Number(other.resourceVersion ?? 0);

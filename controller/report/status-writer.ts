/**
 * Writes the status of GlobalPullSecret: one write a second at most, and only what changed. Nobody
 * waits for it, and one that fails changes nothing else: it is tried again, with what is so then.
 */
import { isDeepStrictEqual } from "node:util";
import type { GlobalPullSecret, GlobalPullSecretStatus } from "#api/global-pull-secret.ts";
import { globalPullSecretName } from "#contract/names.ts";
import { ApiError } from "#kube/api-error.ts";
import type { Cluster } from "#kube/client.ts";
import { backoff } from "#kube/loop.ts";
import { globalPullSecretPath } from "#kube/paths.ts";

/** A rollout's counters change several times a second, for hours in a large cluster. */
const pauseMilliseconds = 1000;

/** Owner of status: another than spec's, so that no apply of one takes the other's fields. */
export const statusManager = "global-pull-secret-status";

/** A watch lags by seconds. What it shows after this long is so, even if it is an older version. */
const longestLag = 60_000;

type Options = Readonly<{
  cluster: Pick<Cluster, "apply">;
  failed: (error: Error) => void;
  now?: () => number;
  pause?: (milliseconds: number) => Promise<void>;
}>;

export type StatusWriter = Readonly<{
  /** What was said last, by us or by the controller before us. */
  before: (object: GlobalPullSecret) => GlobalPullSecretStatus | undefined;
  /** To be said. Returns at once, and never fails. */
  write: (object: GlobalPullSecret, status: GlobalPullSecretStatus) => void;
  /** Resolves when nothing waits to be written. */
  idle: () => Promise<void>;
}>;

type Told = Readonly<{ uid: string; status: GlobalPullSecretStatus }>;

export function statusWriter(options: Options): StatusWriter {
  const { cluster, failed, pause = later, now = Date.now } = options;
  /** What is or will be there: times and counts go on from it before it is written. */
  let told: Told | undefined;
  let waiting: Told | undefined;
  /** The object after our last write, as the API server answered it. */
  let answered: Readonly<{ object: GlobalPullSecret; at: number }> | undefined;
  let worker: Promise<void> | undefined;

  async function work(): Promise<void> {
    let failures = 0;
    for (let one = waiting; one !== undefined; one = waiting) {
      try {
        await send(one);
        failures = 0;
        if (waiting === one) waiting = undefined;
        await pause(pauseMilliseconds);
      } catch (error) {
        if (error instanceof ApiError && (error.status === 404 || error.status === 409)) {
          // The object is gone, or another one, or no longer ours to write: the next run tells.
          told = waiting = undefined;
          return;
        }
        failures += 1;
        failed(error as Error);
        await pause(Math.max(pauseMilliseconds, backoff(failures)));
      }
    }
  }

  async function send({ uid, status }: Told): Promise<void> {
    // The uid keeps the apply from making an object that was deleted meanwhile.
    const metadata = { name: globalPullSecretName, uid };
    const body = {
      apiVersion: "globalpullsecret.io/v1alpha1",
      kind: "GlobalPullSecret",
      metadata,
      status,
    };
    const how = { manager: statusManager, force: true };
    const path = `${globalPullSecretPath}/status`;
    answered = { object: await cluster.apply<GlobalPullSecret>(path, body, how), at: now() };
  }

  /** Somebody else wrote after us, or etcd was restored: what is there is not what we said. */
  function isOverwritten({ metadata, status }: GlobalPullSecret): boolean {
    if (answered === undefined || waiting !== undefined) return false;
    const { object, at } = answered;
    if (metadata.uid !== object.metadata.uid || isDeepStrictEqual(status, object.status))
      return false;
    return isNewer(metadata, object.metadata) || now() - at > longestLag;
  }

  const before = ({ metadata, status }: GlobalPullSecret) =>
    told !== undefined && told.uid === metadata.uid ? told.status : status;

  return {
    before,
    write(object, status) {
      if (isDeepStrictEqual(before(object), status) && !isOverwritten(object)) return;
      told = waiting = { uid: object.metadata.uid ?? "", status };
      worker ??= work().finally(() => (worker = undefined));
    },
    idle: async () => worker,
  };
}

type Metadata = GlobalPullSecret["metadata"];

const isNewer = (one: Metadata, other: Metadata) =>
  BigInt(one.resourceVersion ?? 0) > BigInt(other.resourceVersion ?? 0);

const later = (milliseconds: number) =>
  new Promise<void>((resolve) => void setTimeout(resolve, milliseconds).unref());

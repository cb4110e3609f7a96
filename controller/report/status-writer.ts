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
const manager = "global-pull-secret-status";

type Options = Readonly<{
  cluster: Pick<Cluster, "apply">;
  failed: (error: Error) => void;
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

export function statusWriter({ cluster, failed, pause = later }: Options): StatusWriter {
  /** What is or will be there: times and counts go on from it before it is written. */
  let told: Told | undefined;
  let waiting: Told | undefined;
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
    await cluster.apply(`${globalPullSecretPath}/status`, body, { manager, force: true });
  }

  const before = ({ metadata, status }: GlobalPullSecret) =>
    told !== undefined && told.uid === metadata.uid ? told.status : status;

  return {
    before,
    write(object, status) {
      if (isDeepStrictEqual(before(object), status)) return;
      told = waiting = { uid: object.metadata.uid ?? "", status };
      worker ??= work().finally(() => (worker = undefined));
    },
    idle: async () => worker,
  };
}

const later = (milliseconds: number) =>
  new Promise<void>((resolve) => void setTimeout(resolve, milliseconds).unref());

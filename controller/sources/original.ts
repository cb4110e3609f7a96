/**
 * Reads the original Secret, which can be in another cluster. That cluster can be unreachable for
 * hours, refuse our credential or hang, and no other work must wait for it. So requests have a
 * short deadline, and the pauses between them grow. During a pause, the original counts as unknown.
 */
import type { V1Secret } from "@kubernetes/client-node";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { backoff } from "#kube/client/retry.ts";
import { Informer } from "#kube/watch/informer.ts";
import type { Original } from "./input.ts";
import type { Logger } from "pino";
import type { ControllerConfig } from "#controller/policy/config.ts";
import { connect } from "#kube/client/client.ts";
import { loadKubeConfig } from "#kube/load.ts";
import { cached } from "#kube/watch/cached-client.ts";
import { secretsIn } from "#kube/client/paths.ts";
import { reopened } from "#kube/client/renewal.ts";

/**
 * The deadline of a read in seconds. It is far below `hangsSeconds`, and long enough for an API
 * server on another continent.
 */
const readSeconds = 5;

type Options = Readonly<{
  /** Reads from `informer` while its watch is up to date. */
  cluster: Cluster;
  path: string;
  informer: Informer;
  now: () => Date;
  /**
   * Called with the reason when the original becomes unreadable, and without a reason when it is
   * readable again.
   */
  changed: (problem: string | undefined) => void;
}>;

/** Returns a reader of the original. It never rejects and takes at most five seconds. */
export function originalReader(options: Options): () => Promise<Original> {
  const { cluster, path, informer, now, changed } = options;
  let failures = 0;
  let next = 0;

  function outcome<T>(result: T, problem?: string): T {
    if ((problem === undefined) !== (failures === 0)) changed(problem);
    failures = problem === undefined ? 0 : failures + 1;
    if (failures > 0) next = now().getTime() + backoff(failures);
    return result;
  }

  return async () => {
    const isShown = typeof informer.shown === "object";
    if (!isShown && failures > 0 && now().getTime() < next) return "unknown";
    try {
      return outcome((await inTime(cluster.get<V1Secret>(path))) ?? "absent");
    } catch (error) {
      // If we lack the right to read the original, it counts as absent.
      if (error instanceof ApiError && error.status === 403) return outcome("absent");
      return outcome("unknown", (error as Error).message);
    }
  };
}

async function inTime<T>(answer: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new Error(`no answer within ${readSeconds} s`)),
    readSeconds * 1000,
  );
  try {
    return await Promise.race([answer, promise]);
  } finally {
    clearTimeout(timer);
  }
}

const now = () => new Date();

/**
 * The original that the flags name, in `home` (the controller's own cluster) or in another
 * kubeconfig's cluster. Undefined if the flags name no original.
 */
export function openOriginal(
  { original, originalKubeconfig: file }: ControllerConfig,
  home: Cluster,
  asked: (method: string, status: number) => void,
  log: Logger,
) {
  if (original === undefined) return undefined;
  const live =
    file === undefined ? home : reopened(file, () => connect(loadKubeConfig(file), asked));
  const target = { collection: secretsIn(original.namespace), name: original.name };
  const followed = { live, target, informer: new Informer() };
  const changed = (problem: string | undefined) => {
    if (problem === undefined) log.info("the original can be read again");
    else
      log.warn(
        { problem },
        "the original cannot be read; its last accepted document stays in force",
      );
  };
  const path = `${target.collection}/${target.name}`;
  const cluster = cached(live, [followed]);
  return {
    read: originalReader({ cluster, path, informer: followed.informer, now, changed }),
    name: `${original.namespace}/${original.name}`,
    followed,
  };
}

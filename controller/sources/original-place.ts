/** Where the original Secret is, and how it is read there. */
import type { Logger } from "pino";
import type { ControllerConfig } from "#controller/policy/config.ts";
import { connect } from "#kube/client/client.ts";
import { loadKubeConfig } from "#kube/load.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { Informer } from "#kube/watch/informer.ts";
import { cached } from "#kube/watch/cached-client.ts";
import { secretsIn } from "#kube/client/paths.ts";
import { reopened } from "#kube/client/renewal.ts";
import { originalReader } from "./original.ts";

const now = () => new Date();

/**
 * The original that the flags name, in `home` (the controller's own cluster) or in another
 * kubeconfig's cluster; undefined when they name none.
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

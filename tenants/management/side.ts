/** The management side: makes a Secret of each SyncSecret in one tenant's namespace. */
import type { Cluster } from "#kube/client/cluster.ts";
import { secretsIn } from "#kube/client/paths.ts";
import { syncSecretsIn } from "../objects.ts";
import { isSecretOf, secretOf } from "../rules/copies.ts";
import type { Side } from "../side.ts";

/** An hour. Only a finalizer that somebody else put on a copy lasts so long. */
const deadline = 3600;

export const managementSide = (
  cluster: Cluster,
  namespace: string,
  leftBehind?: Side["leftBehind"],
): Side => ({
  deadline,
  ...(leftBehind === undefined ? {} : { leftBehind }),
  from: cluster,
  objects: syncSecretsIn(namespace),
  to: cluster,
  made: secretsIn(namespace),
  noun: "Secret",
  propagation: "Background",
  wanted: secretOf,
  isOurs: isSecretOf,
  told: ({ metadata: { name = "", resourceVersion = "" } }) => ({
    reason: "Synced",
    message: `Secret ${name} holds what is declared`,
    secretName: name,
    resourceVersion,
  }),
});

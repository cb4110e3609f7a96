/** The management side: makes a Secret of each SyncSecret in one tenant's namespace. */
import type { Cluster } from "#kube/client/cluster.ts";
import { secretsIn } from "#kube/client/paths.ts";
import { syncSecretsIn } from "../objects.ts";
import { isSecretOf, secretOf } from "../rules/copies.ts";
import type { Side } from "../side.ts";

/**
 * Keeps a copy until its Secret is gone, and the Role and RoleBinding of the namespace until its
 * last copy is gone.
 */
export const finalizer = "globalpullsecret.io/sync";

export const managementSide = (
  cluster: Cluster,
  namespace: string,
  rights?: Side["rights"],
): Side => ({
  from: cluster,
  objects: syncSecretsIn(namespace),
  to: cluster,
  made: secretsIn(namespace),
  noun: "Secret",
  finalizer,
  ...(rights === undefined ? {} : { rights }),
  wanted: secretOf,
  isOurs: isSecretOf,
  told: ({ metadata: { name = "", resourceVersion = "" } }) => ({
    reason: "Synced",
    message: `Secret ${name} holds what is declared`,
    secretName: name,
    resourceVersion,
  }),
});

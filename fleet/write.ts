/** The fleet controller's writes to its own object in the management cluster. */
import type { V1ObjectMeta } from "@kubernetes/client-node";
import type { FleetSecret, FleetSecretStatus } from "#api/fleet-secret.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { fleetSecretsIn } from "#kube/client/paths.ts";
import { fleetManager } from "./connection.ts";

const group = "globalpullsecret.io/v1alpha1";

/** Keeps a deleted object until we have removed the Secret from its clusters. */
const finalizer = "globalpullsecret.io/fleet";

const written = ({ metadata }: FleetSecret, more: object = {}) => ({
  apiVersion: group,
  kind: "FleetSecret",
  metadata: { name: metadata.name, uid: metadata.uid, ...more },
});
const at = ({ metadata }: FleetSecret): string =>
  `${fleetSecretsIn(metadata.namespace ?? "")}/${metadata.name}`;

/** `namespace/name` of an object. */
export const pathOf = ({ namespace, name }: V1ObjectMeta): string => `${namespace}/${name}`;

/** Adds or removes the finalizer if necessary. */
export async function writeFinalizer(home: Cluster, object: FleetSecret, wanted: boolean) {
  const there = object.metadata.finalizers?.includes(finalizer) === true;
  if (there === wanted) return;
  const body = written(object, wanted ? { finalizers: [finalizer] } : {});
  await home.apply(at(object), body, { manager: fleetManager, force: true });
}

export async function writeStatus(home: Cluster, object: FleetSecret, status: FleetSecretStatus) {
  const manager = `${fleetManager}-status`;
  await home.apply(
    `${at(object)}/status`,
    { ...written(object), status },
    { manager, force: true },
  );
}

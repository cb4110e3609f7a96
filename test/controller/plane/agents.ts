/** The agents' pods, and the nodes' objects. */
import type { V1Pod } from "@kubernetes/client-node";
import type { NodePullSecret } from "#api/node-pull-secret.ts";
import { collections } from "#kube/client/paths.ts";
import type { Plane } from "./start.ts";

export async function agents({ api }: Pick<Plane, "api">): Promise<readonly V1Pod[]> {
  const pods: V1Pod[] = [];
  const labelSelector = "name=global-pull-secret-syncer";
  await api.pages<V1Pod>(collections.pods, { labelSelector }, (items) => void pods.push(...items));
  return pods;
}

export async function nodePullSecrets({
  api,
}: Pick<Plane, "api">): Promise<readonly NodePullSecret[]> {
  const objects: NodePullSecret[] = [];
  await api.pages<NodePullSecret>(
    collections.nodePullSecrets,
    {},
    (items) => void objects.push(...items),
  );
  return objects;
}

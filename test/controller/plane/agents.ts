/** The agents' pods. */
import type { V1Pod } from "@kubernetes/client-node";
import { grantOf } from "#contract/grant.ts";
import type { Plane } from "./start.ts";

export async function agents({ api }: Pick<Plane, "api">): Promise<readonly V1Pod[]> {
  const pods: V1Pod[] = [];
  const labelSelector = "name=global-pull-secret-syncer";
  const path = "/api/v1/namespaces/kube-system/pods";
  await api.pages<V1Pod>(path, { labelSelector }, (items) => void pods.push(...items));
  return pods;
}

/** Node → the revision of its pod's grant. 0: the grant was revoked. undefined: no grant. */
export async function grants(plane: Pick<Plane, "api">): Promise<Map<string, number | undefined>> {
  const pods = await agents(plane);
  return new Map(
    pods.map(({ metadata, spec }) => [
      spec?.nodeName ?? "",
      grantOf(metadata?.annotations)?.revision,
    ]),
  );
}

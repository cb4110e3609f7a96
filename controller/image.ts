/** The image of the agents. */
import type { V1Pod } from "@kubernetes/client-node";
import { namespace } from "#contract/names.ts";
import type { Config } from "./policy/config.ts";
import type { Cluster } from "#kube/client.ts";
import { collections } from "#kube/paths.ts";

/**
 * The image that the agents run: `--agent-image`, else the controller's own, found by POD_NAME. One
 * image with two entry points, so that an upgrade of the Deployment upgrades the agents too.
 */
export async function imageOf({ image: given }: Config, cluster: Cluster): Promise<string> {
  if (given !== undefined) return given;
  const name = process.env["POD_NAME"];
  if (name === undefined)
    throw new Error("--agent-image: give it, or set POD_NAME to the controller's own pod");
  const pod = await cluster.get<V1Pod>(`${collections.pods}/${name}`);
  const image = pod?.spec?.containers.find((container) => container.name === "controller")?.image;
  if (image === undefined)
    throw new Error(`pod ${namespace}/${name} has no container "controller": give --agent-image`);
  return image;
}

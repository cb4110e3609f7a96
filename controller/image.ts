/** The agents' image and its pull secrets. */
import type { V1Pod } from "@kubernetes/client-node";
import type { Cluster } from "#kube/client/cluster.ts";
import { podsIn } from "#kube/client/paths.ts";
import type { AgentImage } from "./objects/agent.ts";
import type { ControllerConfig } from "./policy/config.ts";

/**
 * With `--agent-image`, the image and its pull secrets come from flags. The controller then does
 * not need the right to read pods. Without this flag, the image is that of the controller's own pod
 * (POD_NAME), as its Deployment names it: one image with two entry points, so an upgrade of the
 * Deployment also upgrades the agents, and each replica of the controller gives the same image. The
 * agents run in the namespace of the controller's pod and use this pod's pull secrets, unless flags
 * name others. But the agents of a guest cluster get only the pull secrets that flags name.
 */
export async function imageOf(config: ControllerConfig, cluster: Cluster): Promise<AgentImage> {
  const named = config.installed.agent.pod.imagePullSecrets;
  if (config.image !== undefined) return { image: config.image, imagePullSecrets: named };
  const name = process.env["POD_NAME"];
  if (name === undefined)
    throw new Error("--agent-image: missing; set it, or set POD_NAME to the controller's own pod");
  const path = `${podsIn(config.namespace)}/${name}`;
  const pod = await cluster.get<V1Pod>(path);
  const isInherited = named.length === 0 && config.guestKubeconfig === undefined;
  const own = (pod?.spec?.imagePullSecrets ?? []).flatMap((secret) => secret.name ?? []);
  return { image: imageIn(pod, path), imagePullSecrets: isInherited ? own : named };
}

function imageIn(pod: V1Pod | undefined, path: string): string {
  const image = pod?.spec?.containers.find(({ name }) => name === "controller")?.image;
  if (image === undefined)
    throw new Error(`${path} has no container "controller"; set --agent-image`);
  return image;
}

/** The image that agents run, and the Secrets that it is pulled with. */
import type { V1Node, V1Pod } from "@kubernetes/client-node";
import { setTimeout as sleep } from "node:timers/promises";
import type { Cluster } from "#kube/client/cluster.ts";
import { collections, podsIn } from "#kube/client/paths.ts";
import type { AgentImage } from "./objects/agent.ts";
import type { ControllerConfig } from "./policy/config.ts";
import { repositoryOf } from "#pullsecret/registry/image.ts";

/** Seconds for an answer: a server that is busy is reported soon, and asked again by the caller. */
const answer = { seconds: 5 };

/**
 * The image that the agents run, and its pull secrets. `--agent-image` is taken as it is given,
 * with the pull secrets that flags name: no pod is read, so that the right to that can be left out.
 * Without it, it is the image of the controller's own pod (POD_NAME), by digest where its runtime
 * reports one that every node can pull: one image with two entry points, so that an upgrade of the
 * Deployment upgrades the agents too. The pull secrets are the pod's own, unless flags name others,
 * because agents are in its namespace. A guest's agents are in another cluster, where the pod's
 * pull secrets do not exist; there the image is taken as it is written, since a digest needs the
 * right to read nodes.
 */
export async function imageOf(config: ControllerConfig, cluster: Cluster): Promise<AgentImage> {
  const given = config.installed.agent.pod.imagePullSecrets;
  if (config.image !== undefined) return { image: config.image, imagePullSecrets: given };
  const name = process.env["POD_NAME"];
  if (name === undefined)
    throw new Error("--agent-image: give it, or set POD_NAME to the controller's own pod");
  const path = `${podsIn(config.namespace)}/${name}`;
  const pod = await cluster.get<V1Pod>(path, answer);
  if (config.guestKubeconfig !== undefined)
    return { image: imageIn(pod, path), imagePullSecrets: given };
  const own = (pod?.spec?.imagePullSecrets ?? []).flatMap((secret) => secret.name ?? []);
  return {
    image: await ownImage(cluster, path),
    imagePullSecrets: given.length > 0 ? given : own,
  };
}

/**
 * Looks for the digest, one a second. A kubelet reports a container that runs within a second or
 * two.
 */
const looks = 15;

async function ownImage(cluster: Cluster, path: string): Promise<string> {
  for (let look = 1; ; look++) {
    const pod = await cluster.get<V1Pod>(path, answer);
    const image = imageIn(pod, path);
    const imageID = ofController(pod?.status?.containerStatuses)?.imageID ?? "";
    if (imageID !== "")
      return byDigest(image, imageID, await runtimeOf(cluster, pod?.spec?.nodeName ?? ""));
    if (look === looks) return image;
    await sleep(1000);
  }
}

function ofController<One extends { name: string }>(all: readonly One[] | undefined) {
  return all?.find(({ name }) => name === "controller");
}

function imageIn(pod: V1Pod | undefined, path: string): string {
  const image = ofController(pod?.spec?.containers)?.image;
  if (image === undefined)
    throw new Error(`${path} has no container "controller": give --agent-image`);
  return image;
}

/**
 * The runtime as the kubelet reports it: `containerd://2.2.0`; empty where there is no such node.
 */
async function runtimeOf(cluster: Cluster, node: string): Promise<string> {
  let found = "";
  await cluster.pages<V1Node>(
    collections.nodes,
    { fieldSelector: `metadata.name=${node}` },
    (nodes) => (found = nodes[0]?.status?.nodeInfo?.containerRuntimeVersion ?? ""),
  );
  return found;
}

/**
 * The image by the digest that this pod runs, so that a tag which is moved meanwhile cannot give
 * nodes an agent that the controller does not know. It stays as it is written wherever another node
 * might not be able to pull that digest (docs/decisions/0031):
 *
 * - it is written by digest already;
 * - the runtime reports the image's own id, which no registry knows, or a digest of another
 *   repository, as for images that were loaded by hand;
 * - the runtime is not containerd. Only containerd is known to report the digest that was pulled,
 *   which is that of all platforms together; CRI-O may report that of one.
 */
export function byDigest(written: string, imageID: string, runtime: string): string {
  const [, pulled = "", digest] = /^([^@]+)@(sha256:[a-f0-9]{64})$/.exec(imageID) ?? [];
  const repository = repositoryOf(written);
  const same = repository !== undefined && repository === repositoryOf(pulled);
  if (
    digest === undefined ||
    !same ||
    written.includes("@") ||
    !runtime.startsWith("containerd://")
  )
    return written;
  // The name as the Deployment spells it, without the tag: not every runtime takes both.
  return `${written.replace(/:[^:/]*$/, "")}@${digest}`;
}

/** The agents' image and its pull secrets. */
import type { V1Node, V1Pod } from "@kubernetes/client-node";
import { setTimeout as sleep } from "node:timers/promises";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { collections, podsIn } from "#kube/client/paths.ts";
import { backoff } from "#kube/client/retry.ts";
import { reminder } from "#runtime/reminder.ts";
import type { AgentImage } from "./objects/agent.ts";
import type { ControllerConfig } from "./policy/config.ts";
import { repositoryOf } from "#pullsecret/registry/image.ts";

/** Seconds to wait for an answer. The caller logs a timeout, and asks again. */
const answer = { seconds: 5 };

/**
 * With `--agent-image`, the image and its pull secrets come from flags. The controller then does
 * not need the right to read pods. Without this flag, the image is that of the controller's own pod
 * (POD_NAME): one image with two entry points, so an upgrade of the Deployment also upgrades the
 * agents. The image is named by digest if the runtime reports a digest that every node can pull.
 * The agents run in the namespace of the controller's pod and use this pod's pull secrets, unless
 * flags name others. But the agents of a guest cluster get only the pull secrets that flags name,
 * and their image stays as written, because finding the digest needs the right to read nodes.
 */
export async function imageOf(config: ControllerConfig, cluster: Cluster): Promise<AgentImage> {
  const pullSecrets = config.installed.agent.pod.imagePullSecrets;
  if (config.image !== undefined) return { image: config.image, imagePullSecrets: pullSecrets };
  const name = process.env["POD_NAME"];
  if (name === undefined)
    throw new Error("--agent-image: missing; set it, or set POD_NAME to the controller's own pod");
  const path = `${podsIn(config.namespace)}/${name}`;
  const pod = await cluster.get<V1Pod>(path, answer);
  if (config.guestKubeconfig !== undefined)
    return { image: imageIn(pod, path), imagePullSecrets: pullSecrets };
  const own = (pod?.spec?.imagePullSecrets ?? []).flatMap((secret) => secret.name ?? []);
  return {
    image: await ownImage(cluster, path),
    imagePullSecrets: pullSecrets.length > 0 ? pullSecrets : own,
  };
}

/**
 * The number of tries to read the digest, one each second. A kubelet reports a running container
 * within two seconds.
 */
const tries = 15;

async function ownImage(cluster: Cluster, path: string): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    const pod = await cluster.get<V1Pod>(path, answer);
    const image = imageIn(pod, path);
    const imageID = ofController(pod?.status?.containerStatuses)?.imageID ?? "";
    if (imageID !== "")
      return byDigest(image, imageID, await runtimeOf(cluster, pod?.spec?.nodeName ?? ""));
    if (attempt === tries) return image;
    await sleep(1000);
  }
}

function ofController<One extends { name: string }>(all: readonly One[] | undefined) {
  return all?.find(({ name }) => name === "controller");
}

function imageIn(pod: V1Pod | undefined, path: string): string {
  const image = ofController(pod?.spec?.containers)?.image;
  if (image === undefined)
    throw new Error(`${path} has no container "controller"; set --agent-image`);
  return image;
}

/**
 * The runtime as the kubelet reports it, such as `containerd://2.2.0`. Empty if there is no such
 * node.
 */
async function runtimeOf(cluster: Cluster, node: string): Promise<string> {
  let runtime = "";
  await cluster.pages<V1Node>(
    collections.nodes,
    { fieldSelector: `metadata.name=${node}` },
    (nodes) => (runtime = nodes[0]?.status?.nodeInfo?.containerRuntimeVersion ?? ""),
  );
  return runtime;
}

/**
 * The image, named by the digest that this pod runs. Nodes then get the controller's build even if
 * the tag is moved. The image stays as written in these cases
 * (docs/inside/decisions/image-digest.md):
 *
 * - It is already written with a digest.
 * - The runtime reports the image's own id, which no registry can resolve, or a digest of another
 *   repository. This happens with images that were loaded by hand.
 * - The runtime is not containerd. Only containerd is known to report the digest that was pulled,
 *   which covers all platforms. CRI-O can report the digest of one platform.
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
  // The name as the Deployment spells it, without the tag. Not every runtime accepts a tag and a
  // digest together.
  return `${written.replace(/:[^:/]*$/, "")}@${digest}`;
}

type RetryOptions = Readonly<{
  /** Called at the first failure, and then once a minute, with the reason. */
  failed: (error: ApiError) => void;
  due?: ReturnType<typeof reminder>;
  pause?: (milliseconds: number) => Promise<unknown>;
}>;

/**
 * Repeats a request while the API server is unreachable during the start. If the process exited
 * instead, it would restart with growing delays (CrashLoopBackOff).
 */
export async function retryUntilAnswered<T>(
  ask: () => Promise<T>,
  { failed, due = reminder(), pause = sleep }: RetryOptions,
): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.status > 0 && error.status < 500 && error.status !== 429) throw error;
      if (due(error.message)) failed(error);
      await pause(backoff(failures));
    }
  }
}

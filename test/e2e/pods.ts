/** Ordinary pods, as a user would write them. */
import { until } from "../cluster/await.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { Node } from "../cluster/node.ts";

/** A pod in namespace default that runs `image` on that node, without imagePullSecrets. */
export function podOn(node: Node, name: string, image: string): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default" },
    spec: {
      nodeSelector: { "kubernetes.io/hostname": node.name },
      terminationGracePeriodSeconds: 1,
      automountServiceAccountToken: false,
      containers: [{ name: "app", image }],
    },
  };
}

type Pod = {
  status: {
    phase: string;
    containerStatuses?: {
      state: { waiting?: { reason: string; message?: string }; running?: object };
    }[];
  };
};

/**
 * `Running`, or the reason why the pod's container waits (`ImagePullBackOff`, `ErrImagePull`, …).
 */
export async function stateOf(cluster: Cluster, name: string): Promise<string> {
  const pod = await cluster.get<Pod>("pod", name, "-n", "default");
  const state = pod?.status.containerStatuses?.[0]?.state;
  if (state?.running !== undefined) return "Running";
  return state?.waiting?.reason ?? pod?.status.phase ?? "absent";
}

export async function untilState(
  cluster: Cluster,
  name: string,
  ...expectedStates: readonly string[]
): Promise<void> {
  await until(
    `pod ${name} is ${expectedStates.join(" or ")}`,
    async () => expectedStates.includes(await stateOf(cluster, name)),
    {
      timeout: 120_000,
      seen: () => stateOf(cluster, name),
    },
  );
}

/** The states of a pod whose image the kubelet cannot pull without a credential. */
export const pullRefused = ["ErrImagePull", "ImagePullBackOff"] as const;

/** The agents, as the controller declares them. */
import type { V1ResourceRequirements, V1Affinity } from "@kubernetes/client-node";
import type { AgentPolicy, RolloutPolicy, DeliveryPolicy } from "#controller/policy/policy.ts";

/** The agents' image, and the Secrets of kube-system with which the kubelet pulls it. */
export type AgentImage = Readonly<{ image: string; imagePullSecrets: readonly string[] }>;

export type Agent = AgentPolicy & Pick<RolloutPolicy, "probationSeconds"> & AgentImage;

/**
 * The resources without empty parts. The API server drops empty parts, and the controller would
 * then write them again for ever.
 */
export function resourcesOf({ pod: { requests, limits } }: Agent): V1ResourceRequirements {
  return {
    ...(Object.keys(requests).length > 0 && { requests: { ...requests } }),
    ...(Object.keys(limits).length > 0 && { limits: { ...limits } }),
  };
}

const linux = { label: "kubernetes.io/os", value: "linux" };

export const nodeSelector = { [linux.label]: linux.value };

export function affinityOf({ pod }: Agent): V1Affinity | undefined {
  const matchExpressions = pod.nodes.requirements.map(({ values, ...requirement }) => ({
    ...requirement,
    ...(values && { values: [...values] }),
  }));
  if (matchExpressions.length === 0) return undefined;
  const nodeSelectorTerms = [{ matchExpressions }];
  return {
    nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } },
  };
}

/** The label selector of the nodes that have agents. */
export function nodesOf({ pod }: Pick<Agent, "pod">): string {
  return [`${linux.label}=${linux.value}`, pod.nodes.text].filter(Boolean).join(",");
}

/** The agents' flags of the modes that do not use config.json alone. */
export function deliveryFlags(delivery: DeliveryPolicy): Readonly<Record<string, string>> {
  if (delivery.mode === "Runtime") return { delivery: delivery.mode };
  if (delivery.mode !== "CredentialProvider") return {};
  const { mode, scope } = delivery;
  return { delivery: mode, scope };
}

/** The agents, as the controller declares them. */
import type { V1ResourceRequirements } from "@kubernetes/client-node";
import type { AgentPolicy, RolloutPolicy } from "#controller/policy/policy.ts";

/** The image that an agent runs, and the Secrets of kube-system that it is pulled with. */
export type AgentImage = Readonly<{ image: string; imagePullSecrets: readonly string[] }>;

export type Agent = Omit<AgentPolicy, "hiddenFiles"> &
  Pick<RolloutPolicy, "probationSeconds"> &
  AgentImage &
  Readonly<{
    /** `Skip`: nodes cannot mount their root directory safely, so nobody looks. */
    hiddenFiles: AgentPolicy["hiddenFiles"] | "Skip";
  }>;

/**
 * The resources without empty parts. The API server would drop these, and we would write them again
 * for ever.
 */
export function resourcesOf({ pod: { requests, limits } }: Agent): V1ResourceRequirements {
  return {
    ...(Object.keys(requests).length > 0 && { requests: { ...requests } }),
    ...(Object.keys(limits).length > 0 && { limits: { ...limits } }),
  };
}

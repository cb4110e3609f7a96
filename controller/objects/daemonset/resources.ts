/** Requests and limits of each container of ours. */
import type { V1ResourceRequirements } from "@kubernetes/client-node";
import type { Agent } from "./agent.ts";

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

/** What each container of ours asks for and is held to. */
import type { V1ResourceRequirements } from "@kubernetes/client-node";
import type { Agent } from "./agent.ts";

/** What is empty is left out: the API server would drop it, and it would be written for ever. */
export function resourcesOf({ pod: { requests, limits } }: Agent): V1ResourceRequirements {
  return {
    ...(Object.keys(requests).length > 0 && { requests: { ...requests } }),
    ...(Object.keys(limits).length > 0 && { limits: { ...limits } }),
  };
}

/** The agents, as the controller declares them. */
import type { Pinned } from "./pinned.ts";
import type { AgentPolicy, RolloutPolicy } from "#controller/policy/policy.ts";

/** The image that an agent runs, and the Secrets of kube-system that it is pulled with. */
export type AgentImage = Readonly<{ image: string; imagePullSecrets: readonly string[] }>;

export type Agent = AgentPolicy &
  Pick<RolloutPolicy, "probationSeconds"> &
  AgentImage &
  Readonly<{
    /** The only nodes that still get an agent. */
    pinned?: Pinned;
  }>;

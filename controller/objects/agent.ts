/** The agents, as the controller declares them. */
import type { Pinned } from "./pinned.ts";
import type { AgentPolicy, RolloutPolicy } from "../policy/policy.ts";

/** `pinned`: the only nodes that still get one. */
export type Agent = AgentPolicy &
  Pick<RolloutPolicy, "probationSeconds"> &
  Readonly<{ image: string; pinned?: Pinned }>;

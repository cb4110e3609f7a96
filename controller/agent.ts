/** The agents, as the controller declares them. */
import type { AgentConfig } from "./config.ts";
import type { Pinned } from "./pinned.ts";

/** `minReadySeconds`: how long a restarted kubelet is on trial. `pinned`: the only nodes that still get one. */
export type Agent = AgentConfig & Readonly<{ image: string; minReadySeconds: number; pinned?: Pinned }>;

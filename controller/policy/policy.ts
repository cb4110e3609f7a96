/**
 * What an administrator decides, as one value that travels to each decision. Who installs decides
 * by flags what its editor must not gain; GlobalPullSecret's spec decides the rest, within limits.
 */
import type { GlobalPullSecretSpec } from "#api/global-pull-secret.ts";
import type { MergePolicy } from "#pullsecret/merge/merge.ts";
import type { Delivery, DeliveryMode } from "./delivery.ts";
import type { Resources } from "./resources.ts";
import type { Selector } from "./selector.ts";

/** A number of nodes, or a percentage of them as Kubernetes writes it (`10%`). */
export type NodeCount = number | string;

export type ManagementState = NonNullable<GlobalPullSecretSpec["managementState"]>;

export type RolloutPolicy = Readonly<{
  /** How many nodes may be without a working agent at a time. */
  maxUnavailable: NodeCount;
  /** How many nodes may fail newly before a revision is halted. */
  maxFailures: NodeCount;
  /** How long a restarted kubelet must stay well before its node counts. */
  probationSeconds: number;
  /** Between the beginnings of two rollouts of changes. */
  minIntervalSeconds: number;
}>;

export type WithdrawalPolicy = Readonly<{
  /** How long a deleted additional Secret may be made anew before it is withdrawn. */
  graceSeconds: number;
  /** Without any progress for so long a withdrawal is reported. */
  deadlineSeconds: number;
  /** How long nodes that are away are waited for. */
  forgetAfterSeconds: number;
}>;

/** The agents' pods as the installer wants them. */
export type PodPolicy = Readonly<{
  labels: Readonly<Record<string, string>>;
  annotations: Readonly<Record<string, string>>;
  /** Secrets of kube-system that the image is pulled with; none: the controller's own. */
  imagePullSecrets: readonly string[];
  /** The nodes that get an agent. */
  nodes: Selector;
  requests: Resources;
  limits: Resources;
  /** Empty: the cluster's default. */
  priorityClass: string;
}>;

/** What the agents are told; a change here replaces the agents' pods. */
export type AgentPolicy = Readonly<{
  delivery: Delivery;
  /** Whether a kubelet is restarted whose unit carries a control plane, where others are. */
  restartControlPlane: "Always" | "Never";
  /**
   * Whether files that a new config.json would hide are looked for: that takes the root directory.
   */
  hiddenFiles: "Look" | "Ignore";
  /** `auto`: each node's own. */
  kubeletUnit: string;
  kubeletDirectory: string;
  dbusDirectory: string;
  probePort: number;
  healthzPort: number;
  pod: PodPolicy;
}>;

/** A further Secret of kube-system; of two for one registry the higher priority is used. */
export type ExtraSource = Readonly<{ name: string; secretName: string; priority: number }>;

/** In force for one run of the controller. */
export type Policy = Readonly<{
  managementState: ManagementState;
  sources: readonly ExtraSource[];
  merge: MergePolicy;
  rollout: RolloutPolicy;
  withdrawal: WithdrawalPolicy;
  agent: AgentPolicy;
}>;

/** The installer's part: fixed for as long as the process runs. */
export type Installed = Readonly<{
  /** Protected whatever the spec says. */
  protect: readonly string[];
  agent: Omit<AgentPolicy, "delivery">;
  limits: Limits;
}>;

/** What a spec may ask for. */
export type Limits = Readonly<{
  /** At least one. */
  deliveryModes: readonly DeliveryMode[];
  maxUnavailable: NodeCount;
}>;

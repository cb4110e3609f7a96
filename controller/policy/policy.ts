/**
 * What an administrator decides, as one value that travels to each decision. The installer decides
 * by flags what an editor of the object must not gain; GlobalPullSecret's spec decides the rest,
 * within limits.
 */
import type { GlobalPullSecretSpec } from "#api/global-pull-secret.ts";
import type { MergePolicy } from "#pullsecret/merge/merge.ts";
import type { DeliveryPolicy, DeliveryMode } from "./delivery.ts";
import type { Resources } from "./resources.ts";
import type { Selector } from "./selector.ts";

/** A number of nodes, or a percentage of them as Kubernetes writes it (`10%`). */
export type NodeCount = number | string;

export type ManagementState = NonNullable<GlobalPullSecretSpec["managementState"]>;

/** What each step of a rollout takes. */
export type RolloutPolicy = Readonly<{
  /** How many nodes may be without a working agent at a time. */
  maxUnavailable: NodeCount;
  /** How many nodes may newly fail before a revision halts. */
  maxFailures: NodeCount;
  /** Seconds for which a restarted kubelet must stay well before its node counts. */
  probationSeconds: number;
}>;

export type WithdrawalPolicy = Readonly<{
  /** Seconds in which a deleted additional Secret may be created again before it is withdrawn. */
  graceSeconds: number;
  /** Seconds without any progress after which a withdrawal is reported. */
  deadlineSeconds: number;
  /** Seconds that a withdrawal waits for nodes that are away. */
  forgetAfterSeconds: number;
}>;

/** The agents' pods as the installer wants them. */
export type PodPolicy = Readonly<{
  labels: Readonly<Record<string, string>>;
  annotations: Readonly<Record<string, string>>;
  /**
   * Secrets of kube-system that the image is pulled with; empty: those of the controller's own pod.
   */
  imagePullSecrets: readonly string[];
  /** The nodes that get an agent. */
  nodes: Selector;
  requests: Resources;
  limits: Resources;
  /** Empty: the cluster's default. */
  priorityClass: string;
}>;

/** What the agents are told. A change replaces the agents' pods. */
export type AgentPolicy = Readonly<{
  delivery: DeliveryPolicy;
  /** Whether a kubelet whose unit also runs a control plane is restarted, where others are. */
  restartControlPlane: "Always" | "Never";
  /**
   * Whether agents look for files that a new config.json would hide, which takes the node's root
   * directory.
   */
  hiddenFiles: "Look" | "Ignore";
  /** `auto`: each node's own. */
  kubeletUnit: string;
  kubeletDirectory: string;
  probePort: number;
  healthzPort: number;
  /** `auto`: 127.0.0.1, then ::1. */
  healthzAddress: string;
  /** Empty: the container runtime's. */
  seLinuxType: string;
  /** Of agents that may ask systemd. */
  appArmorProfile: string;
  pod: PodPolicy;
}>;

/**
 * A further Secret of kube-system. If two have the same registry, the one of higher priority is
 * used.
 */
export type ExtraSource = Readonly<{ name: string; secretName: string; priority: number }>;

/** The policy in force for one run of the controller. */
export type Policy = Readonly<{
  managementState: ManagementState;
  sources: readonly ExtraSource[];
  merge: MergePolicy;
  rollout: RolloutPolicy &
    Readonly<{
      /** Seconds from the beginning of one rollout of a change to the next. */
      minIntervalSeconds: number;
    }>;
  withdrawal: WithdrawalPolicy;
  agent: AgentPolicy;
}>;

/** The installer's part, fixed for as long as the process runs. */
export type Installed = Readonly<{
  /** Registries that are protected whatever the spec says. */
  protect: readonly string[];
  agent: Omit<AgentPolicy, "delivery">;
  limits: Limits;
}>;

/** The limits of what a spec may ask for. */
export type Limits = Readonly<{
  /** The allowed modes, at least one. */
  deliveryModes: readonly DeliveryMode[];
  maxUnavailable: NodeCount;
}>;

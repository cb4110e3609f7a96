/**
 * The policy: everything that an administrator decides, as one value. With flags, the installer
 * sets the values that an editor of the object must not be able to change. GlobalPullSecret's spec
 * decides the rest, within limits. Pure.
 */
import type { GlobalPullSecretSpec, DeliverySpec } from "#api/global-pull-secret.ts";
import type { DeliveryMode } from "#contract/names.ts";
import type { MergePolicy } from "#pullsecret/merge/merge.ts";
import type { Resources } from "./resources.ts";
import type { Selector } from "./labels.ts";

/** A number of nodes, or a percentage as Kubernetes writes it (`10%`). */
export type NodeCount = number | string;

export type ManagementState = NonNullable<GlobalPullSecretSpec["managementState"]>;

export type RolloutPolicy = Readonly<{
  /** How many nodes are allowed to lack a working agent at the same time. */
  maxUnavailable: NodeCount;
  /** How many nodes are allowed to fail with a revision. One more failure halts the rollout. */
  maxFailures: NodeCount;
  /** Seconds for which a restarted kubelet must stay healthy. */
  probationSeconds: number;
}>;

export type WithdrawalPolicy = Readonly<{
  /** `Keep`: the entries of a deleted Secret stay. */
  onDelete: "Withdraw" | "Keep";
  /** Seconds during which a deleted additional Secret can be created again without a withdrawal. */
  graceSeconds: number;
  /** Seconds without progress before a withdrawal is reported. */
  deadlineSeconds: number;
  /** Seconds for which a withdrawal waits for absent nodes. */
  forgetAfterSeconds: number;
}>;

export type VerificationPolicy = Readonly<{
  /** What happens to a new credential that its registry denies. Off: no registry is asked. */
  mode: "Off" | "Warn" | "Refuse";
  /** Images that the nodes must be able to pull. */
  images: readonly string[];
  /** Seconds between two questions. */
  intervalSeconds: number;
}>;

export type PodPolicy = Readonly<{
  labels: Readonly<Record<string, string>>;
  annotations: Readonly<Record<string, string>>;
  /**
   * Secrets of kube-system to pull the image with. Empty: the pull secrets of the controller's own
   * pod.
   */
  imagePullSecrets: readonly string[];
  nodes: Selector;
  requests: Resources;
  limits: Resources;
  /** Empty: the cluster's default. */
  priorityClass: string;
}>;

/** The agents' configuration. A change replaces the agents' pods. */
export type AgentPolicy = Readonly<{
  delivery: DeliveryPolicy;
  /** Whether to restart units that have more than a kubelet, such as those of k3s. */
  restartControlPlane: "Always" | "Never";
  /** `auto`: each agent finds the unit of its node. */
  kubeletUnit: string;
  kubeletDirectory: string;
  /**
   * The directory with containerd's configuration; undefined: the agents have no access to it, and
   * mode Runtime cannot be used.
   */
  containerdDirectory: string | undefined;
  healthzPort: number;
  /** `auto`: 127.0.0.1, then ::1. */
  healthzAddress: string;
  /** Empty: the container runtime's default. */
  seLinuxType: string;
  /** For agents that use systemd's socket. */
  appArmorProfile: string;
  pod: PodPolicy;
}>;

/**
 * An extra Secret of kube-system. If two sources have the same registry, the source with the higher
 * priority supplies it.
 */
export type ExtraSource = Readonly<{ name: string; secretName: string; priority: number }>;

export type Policy = Readonly<{
  managementState: ManagementState;
  sources: readonly ExtraSource[];
  merge: MergePolicy;
  rollout: RolloutPolicy &
    Readonly<{
      /** Seconds between the beginnings of two rollouts. */
      minIntervalSeconds: number;
    }>;
  withdrawal: WithdrawalPolicy;
  verification: VerificationPolicy;
  agent: AgentPolicy;
}>;

/** The installer's part. It does not change while the process runs. */
export type Installed = Readonly<{
  /** Registries that are always protected, in addition to those in the spec. */
  protect: readonly string[];
  agent: Omit<AgentPolicy, "delivery">;
  limits: Limits;
}>;

export type Limits = Readonly<{
  /** The allowed modes, at least one. */
  deliveryModes: readonly DeliveryMode[];
  maxUnavailable: NodeCount;
}>;

/**
 * The modes that a spec is allowed to use by default. They change only a node's config.json. With
 * CredentialProvider, every kubelet runs our program, and with Runtime the agents write what
 * containerd reads, so only the installer can allow these modes.
 */
export const standardModes: readonly DeliveryMode[] = ["Restart", "Reread"];

type Provider = Required<NonNullable<DeliverySpec["credentialProvider"]>>;

/**
 * How a credential on a node's disk comes into use. Only mode CredentialProvider has options.
 */
export type DeliveryPolicy = Readonly<
  | { mode: Exclude<DeliveryMode, "CredentialProvider"> }
  | ({ mode: "CredentialProvider" } & Provider)
>;

/**
 * Defaults of `credentialProvider: {}`, as the API server writes them. A test compares them with
 * manifests/chart/crds.
 */
export const providerDefaults = { scope: "All" } as const;

/** The delivery that this spec requests. If the spec names no mode, `standard` is used. */
export function deliveryOf(
  asked: DeliverySpec | undefined,
  standard: DeliveryMode,
): DeliveryPolicy {
  const mode = asked?.mode ?? standard;
  if (mode !== "CredentialProvider") return { mode };
  return { mode, ...providerDefaults, ...asked?.credentialProvider };
}

/**
 * Whether agents restart kubelets. Agents that never restart a kubelet get no access to systemd.
 */
export function restartOf({ mode }: DeliveryPolicy): "Always" | "Never" {
  return mode === "Restart" ? "Always" : "Never";
}

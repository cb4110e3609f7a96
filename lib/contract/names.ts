/**
 * The names that agent, controller and users share. They are the product's public interface: users'
 * kubectl commands, the DaemonSet's template and the agent's mounts all depend on them, so do not
 * change a name without a migration.
 */

/** The only namespace in which the product reads and writes (besides its nodes). */
export const namespace = "kube-system";

/**
 * The Secret that an administrator creates; type `kubernetes.io/dockerconfigjson`, key
 * `.dockerconfigjson`.
 */
export const additionalSecretName = "additional-pull-secret";

/** The merged result, mounted by every agent. */
export const globalSecretName = "global-pull-secret";

/**
 * The controller's memory: last accepted documents and last published revision. Never mounted into
 * a pod. The controller deletes it last.
 */
export const stateSecretName = "global-pull-secret-state";

/** A key of the state is this prefix and the id of a source. It has the last accepted document. */
export const stateSourcePrefix = "source.";

/** One name for ServiceAccount, Role, RoleBinding and DaemonSet. */
export const agentName = "global-pull-secret-syncer";

/** The agent's container in its pods. */
export const agentContainer = "agent";

/** The label of the agent's pods, and the DaemonSet's (immutable) selector. */
export const agentLabels = { name: agentName } as const;

/**
 * Type of additional-pull-secret and global-pull-secret: the API server requires the key
 * `.dockerconfigjson` with a JSON document.
 */
export const secretType = "kubernetes.io/dockerconfigjson";

/**
 * Keys of global-pull-secret, and file names in the agent's mount. All these keys always exist. If
 * a key that the volume lists were missing, no pod would start, and the volumes of running pods
 * would no longer update.
 */
export const secretKeys = {
  /** The merged document, canonical. The additional Secret uses the same key. */
  document: ".dockerconfigjson",
  /** A decimal integer that only grows. */
  revision: "revision",
  /**
   * 32 random bytes, new with each revision. Because of the salt, a digest of the document reveals
   * nothing about the document.
   */
  salt: "salt",
  /**
   * An `Intent`: what the nodes do with the document. The controller sets the intent, and agents
   * never infer it.
   */
  intent: "intent",
  /** JSON object: registry → id of its source. Contains no credential. */
  sources: "sources",
  /** A `PublishedMode`. An agent in another mode follows only the intent `release`. */
  mode: "mode",
} as const;

/**
 * Keys of the content that new nodes are allowed to take, beside the keys of the newest content.
 * While new nodes are not allowed to take anything, `revision` is 0. During a rollout, `revision`
 * is lower than the newest revision. Afterwards, it is equal to the newest revision. If `revision`
 * is 0 or equal to the newest revision, the other keys are empty.
 */
export const servedKeys = {
  document: "served..dockerconfigjson",
  revision: "served.revision",
  salt: "served.salt",
  intent: "served.intent",
  sources: "served.sources",
} as const;

/**
 * Key of global-pull-secret with salted digests of former values
 * (`lib/pullsecret/merge/former.ts`).
 */
export const formerKey = "former";

/** How a credential on a node's disk comes into use; compared in docs/use/delivery.md. */
export const deliveryModes = ["Restart", "Reread", "CredentialProvider", "Runtime"] as const;
export type DeliveryMode = (typeof deliveryModes)[number];

/** The pods that the credential provider serves: all, or those of annotated ServiceAccounts. */
export const scopes = ["All", "Annotated"] as const;
export type ProviderScope = (typeof scopes)[number];

/**
 * The mode together with its scope, as global-pull-secret and the template of the agents name it.
 * Each scope counts as a separate mode. Without this, agents of scope All could give all pods the
 * content that was published for scope Annotated. The name for scope All is the mode's name.
 */
export const publishedModes = [...deliveryModes, "CredentialProviderAnnotated"] as const;
export type PublishedMode = (typeof publishedModes)[number];

/** The published mode of this delivery. Only mode CredentialProvider has a scope. */
export function publishedMode({
  mode,
  scope,
}: Readonly<{ mode: DeliveryMode; scope?: ProviderScope }>): PublishedMode {
  const isScoped = mode === "CredentialProvider" && scope === "Annotated";
  return isScoped ? "CredentialProviderAnnotated" : mode;
}

/**
 * Ids of the two sources that always exist, as `sources` and the controller's state use them; any
 * other id is the name of an extra source.
 */
export const sourceIds = { additional: "additional", original: "original" } as const;

/** `apply`: put the document in force. `release`: remove everything of ours. */
export type Intent = "apply" | "release";

/**
 * The content of a revision, without its number: the canonical document, and each registry's
 * source.
 */
export type RevisionContent = Readonly<{ document: string; sources: string; intent: Intent }>;

/** Keeps a deleted FleetSecret until its Secrets are removed from the clusters. */
export const fleetFinalizer = "globalpullsecret.io/fleet";

/** Keeps a deleted SyncSecret until its copy is gone. */
export const tenantFinalizer = "globalpullsecret.io/sync-tenant";

/**
 * Annotation on each object that a FleetSecret has placed in a cluster: `ID/NAMESPACE/NAME`. ID is
 * the management cluster's id. NAMESPACE and NAME are those of the FleetSecret.
 */
export const fleetOwnerAnnotation = "globalpullsecret.io/fleet-owner";

/** Label on each object that a FleetSecret has placed. */
export const fleetManagedBy = {
  "app.kubernetes.io/managed-by": "global-pull-secret-fleet",
} as const;

/** The one GlobalPullSecret. */
export const globalPullSecretName = "cluster";

/** Annotation on GlobalPullSecret: a changed value requests one immediate retry of what halted. */
export const retryAnnotation = "globalpullsecret.io/retry";

/** The paths in the agent's container. The controller's flags set the paths on the host. */
export const mountPaths = {
  /** global-pull-secret. It is mounted as a whole directory, so that it follows updates. */
  secret: "/etc/global-pull-secret",
  /** The kubelet's root directory, /var/lib/kubelet unless configured. */
  kubelet: "/host/kubelet",
  /** The directory of systemd's own socket, /run/systemd. */
  systemd: "/host/systemd",
  /** The directory with containerd's configuration, such as /etc/containerd. */
  containerd: "/host/containerd",
  /** Its folder certs.d, which has a directory with a hosts.toml for each registry. */
  hosts: "/host/certs.d",
  /** The agent's token and the API server's authority. */
  credentials: "/var/run/secrets/kubernetes.io/serviceaccount",
} as const;

/**
 * Folders of the kubelet's root directory that the agent does not need: other pods' volumes and
 * tokens, the kubelet's keys, the memory of other containers, and the sockets of CSI drivers,
 * device plugins and the kubelet. An empty volume covers each folder. Without CAP_SYS_ADMIN, the
 * container cannot remove the volume.
 */
export const coveredFolders = [
  "pods",
  "pki",
  "checkpoints",
  "plugins",
  "plugins_registry",
  "device-plugins",
  "pod-resources",
] as const;

/** Our own folder and files below the kubelet's root directory. */
export const nodeFiles = {
  config: "config.json",
  folder: "global-pull-secret",
  journal: "global-pull-secret/journal.json",
} as const;

/** How the document is used: by config.json, a credential provider, or containerd's hosts.toml. */
export const deliveries = ["ConfigFile", "CredentialProvider", "Runtime"] as const;

/**
 * The credential provider's own files below the kubelet's root directory. They are in one
 * directory, so that a cleanup that removes the script also removes the answer. They are not in our
 * folder, because our folder is removed with the journal, and these files must stay as long as a
 * kubelet runs with flags that name them. The directory's name does not begin with our folder's
 * name: if it did, the permission model of Node.js would not let us create or remove our folder.
 */
export const providerFiles = {
  folder: "pull-secret-provider",
  /** --image-credential-provider-bin-dir */
  bin: "pull-secret-provider/bin",
  script: "pull-secret-provider/bin/global-pull-secret",
  /** --image-credential-provider-config; kubelets from 1.34 on accept a directory. */
  configs: "pull-secret-provider/config",
  config: "pull-secret-provider/config/global-pull-secret.json",
  /** The answer that the script prints; mode 0600, since it holds the credentials. */
  answer: "pull-secret-provider/answer.json",
  /** A file whose modification time shows when the kubelet last called the script. */
  stamp: "pull-secret-provider/stamp",
} as const;

/** The provider's name in its configuration; the kubelet runs the program of this name. */
export const providerName = "global-pull-secret";

/**
 * Extension of the cluster in a kubeconfig or a ClusterProfile. The value `{"roots": "system"}`
 * requests the system's root certificates in place of an authority.
 */
export const authorityExtension = "globalpullsecret.io/certificate-authority";

/**
 * Annotation on a ServiceAccount, with any value: in scope Annotated, the provider serves this
 * account's pods.
 */
export const useAnnotation = "globalpullsecret.io/use";

/**
 * Scope Annotated: the audience of the tokens that the kubelet requests. A kubelet needs the verb
 * `request-serviceaccounts-token-audience` on this audience. The tokens are never used.
 */
export const tokenAudience = "global-pull-secret";

/** Environment of the agent's container. */
export const agentEnvironment = {
  node: "NODE_NAME",
  uid: "POD_UID",
  /** The kubelet sets the address of the API server in every container. */
  host: "KUBERNETES_SERVICE_HOST",
  port: "KUBERNETES_SERVICE_PORT",
} as const;

/** Exit codes of an agent's container. */
export const exitCodes = {
  /** Stopped by a signal. */
  done: 0,
  /** An error that no step handles. */
  gaveUp: 1,
  /** A flag or variable that cannot be used. */
  misused: 2,
} as const;

/**
 * Label on a namespace of the management cluster, with any value: the namespace belongs to a
 * tenant.
 */
export const tenantLabel = "globalpullsecret.io/tenant";

/** The account of the management side, in kube-system of the management cluster. */
export const managementAccount = "global-pull-secret-sync-management";

/** The account of the tenant's side, in the tenant's namespace of the management cluster. */
export const tenantAccount = "global-pull-secret-sync-tenant";

/** The Secret to which the tokens of `tenantAccount` are bound. Deleting it voids the tokens. */
export const tenantBound = `${tenantAccount}-token`;

/** The Secret with the kubeconfig of `tenantAccount`, in kube-system of the tenant's cluster. */
export const managementSecret = "global-pull-secret-sync-management";

/** Key of the kubeconfig in `managementSecret`. */
export const kubeconfigKey = "kubeconfig";

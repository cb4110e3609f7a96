/**
 * A dry run of what an installation creates in kube-system. The API server runs its admission as
 * for a real write (quotas, Pod Security, policies, webhooks), and stores nothing.
 */
import type {
  V1DaemonSet,
  V1Pod,
  V1PodSpec,
  V1Secret,
  V1ServiceAccount,
} from "@kubernetes/client-node";
import { mountPaths, namespace, secretType } from "#contract/names.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { pluginManager as manager } from "#kube/client/ownership.ts";
import { collections } from "#kube/client/paths.ts";

/** The kind of an object that the API server refuses, and the server's reason. */
type Refusal = Readonly<{ kind: string; reason: string }>;

export type DryRun = Readonly<{
  refused: readonly Refusal[];
  /** Kinds that the caller may not create, so nothing is known about them. */
  untried: readonly string[];
}>;

/** No object has this name, so nothing that is installed is in the way. */
const metadata = { name: "global-pull-secret-preflight", namespace };
const labels = { name: metadata.name };

/** The agents' pod, with all that an admission may refuse: a test compares it with the real one. */
export const agentPod = (image: string): V1PodSpec => ({
  automountServiceAccountToken: false,
  hostNetwork: true,
  shareProcessNamespace: true,
  priorityClassName: "system-node-critical",
  nodeSelector: { "kubernetes.io/os": "linux" },
  tolerations: [{ operator: "Exists" }],
  securityContext: {
    runAsUser: 0,
    runAsGroup: 0,
    seccompProfile: { type: "RuntimeDefault" },
    seLinuxOptions: { type: "spc_t" },
  },
  containers: [
    {
      name: "agent",
      image,
      resources: { requests: { cpu: "10m", memory: "32Mi" }, limits: { memory: "96Mi" } },
      securityContext: {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
        appArmorProfile: { type: "Unconfined" },
      },
      volumeMounts: [
        { name: "kubelet", mountPath: mountPaths.kubelet, mountPropagation: "HostToContainer" },
        { name: "systemd", mountPath: mountPaths.systemd, readOnly: true },
      ],
    },
  ],
  volumes: [
    { name: "kubelet", hostPath: { path: "/var/lib/kubelet", type: "DirectoryOrCreate" } },
    { name: "systemd", hostPath: { path: "/run/systemd", type: "DirectoryOrCreate" } },
  ],
});

type Created = V1Secret | V1ServiceAccount | V1DaemonSet | V1Pod;

/** Collection → the object to create there. */
const objects = (image: string): Readonly<Record<string, Created>> => ({
  [collections.secrets]: {
    apiVersion: "v1",
    kind: "Secret",
    metadata,
    type: secretType,
    stringData: { ".dockerconfigjson": '{"auths":{}}' },
  },
  [collections.serviceAccounts]: { apiVersion: "v1", kind: "ServiceAccount", metadata },
  [collections.daemonSets]: {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata,
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: agentPod(image) },
    },
  },
  [collections.pods]: {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { ...metadata, labels },
    spec: agentPod(image),
  },
});

export async function dryRun(cluster: Cluster, image: string): Promise<DryRun> {
  const refused: Refusal[] = [];
  const untried: string[] = [];
  for (const [collection, object] of Object.entries(objects(image))) {
    const { kind = "" } = object;
    const options = { manager, force: false, dryRun: true };
    try {
      await cluster.apply(`${collection}/${metadata.name}`, object, options);
    } catch (error) {
      if (!(error instanceof ApiError) || [0, 401, 429].includes(error.status)) throw error;
      if (lacksRight(error)) untried.push(kind);
      else refused.push({ kind, reason: error.detail ?? `${error.status} ${error.reason}` });
    }
  }
  return { refused, untried };
}

/**
 * Whether the caller has no right. An error about a Secret never has a detail (ApiError), so it can
 * also be a quota.
 */
const lacksRight = ({ status, isDenial, detail = "cannot patch resource" }: ApiError): boolean =>
  status === 403 && !isDenial && /cannot \w+ resource/.test(detail);

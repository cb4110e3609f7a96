/** Reads what the cluster records about an object's pods and their credentials. Changes nothing. */
import type { V1Pod, V1PodSpec, V1Secret, V1ServiceAccount } from "@kubernetes/client-node";
import type { GlobalPullSecret } from "#api/global-pull-secret.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { podsIn } from "#kube/client/paths.ts";
import { peekObject } from "../cluster/object.ts";
import { ifAllowed, listOf } from "../cluster/read.ts";
import { readSecret, type ReadSecret } from "./keyring.ts";
import { podSpecOf, selectorText, type PodOwner } from "./kinds.ts";
import { hasPullError, type PullEvent } from "./trouble.ts";

export type PodFacts = Readonly<{
  /** KIND/NAME, in lower case. */
  object: string;
  namespace: string;
  spec: V1PodSpec;
  /** The pod to explain. Undefined if the object has no pod yet. */
  pod: V1Pod | undefined;
  events: readonly PullEvent[];
  account: V1ServiceAccount | "missing" | "notRead";
  /** The object that declares the imagePullSecrets. */
  declaredBy: "pod" | "serviceAccount" | "nobody";
  secrets: readonly ReadSecret[];
  /** Undefined if the product is not installed or the caller is not allowed to read the object. */
  global: GlobalPullSecret | undefined;
}>;

/** `owner`: the pod or workload. */
export async function gatherPod(
  cluster: Cluster,
  owner: PodOwner,
  namespace: string,
): Promise<PodFacts> {
  const pod = await podOf(cluster, owner, namespace);
  const spec = pod?.spec ?? podSpecOf(owner) ?? { containers: [] };
  const name = spec.serviceAccountName || "default";
  const path = `/api/v1/namespaces/${namespace}`;
  const [serviceAccount, events, global] = await Promise.all([
    ifAllowed(cluster.get<V1ServiceAccount>(`${path}/serviceaccounts/${name}`), "notRead"),
    pod === undefined ? [] : eventsOf(cluster, `${path}/events`, pod.metadata?.name ?? ""),
    peekObject(cluster),
  ]);
  const account = serviceAccount ?? "missing";
  const own = names(spec.imagePullSecrets);
  // When a pod is created, the admission plugin ServiceAccount copies the account's
  // imagePullSecrets into the pod. For an existing pod, we therefore use only the pod's own
  // imagePullSecrets.
  const lent =
    own.length > 0 || pod !== undefined || typeof account === "string"
      ? []
      : names(account.imagePullSecrets);
  const secrets = await Promise.all(
    [...own, ...lent].map(async (secretName): Promise<ReadSecret> => {
      const secret = await ifAllowed(
        cluster.get<V1Secret>(`${path}/secrets/${secretName}`),
        "notRead",
      );
      if (secret === "notRead") return { name: secretName, state: "notRead", entries: [] };
      return readSecret(secretName, secret);
    }),
  );
  const object = `${(owner.kind ?? "").toLowerCase()}/${owner.metadata?.name ?? ""}`;
  const declaredBy = own.length > 0 ? "pod" : lent.length > 0 ? "serviceAccount" : "nobody";
  return { object, namespace, spec, pod, events, account, declaredBy, secrets, global };
}

const names = (refs: readonly { name?: string }[] = []): string[] =>
  refs.flatMap(({ name }) => (name === undefined || name === "" ? [] : [name]));

/**
 * If `owner` is a pod: this pod. If `owner` is a workload: one of its pods whose pull fails or, if
 * no pull fails, its first pod.
 */
async function podOf(
  cluster: Cluster,
  owner: PodOwner,
  namespace: string,
): Promise<V1Pod | undefined> {
  if (owner.kind === "Pod") return owner as V1Pod;
  const selector = owner.spec?.selector;
  if (selector === undefined) return undefined;
  const query = { labelSelector: selectorText(selector) };
  const pods = await ifAllowed(listOf<V1Pod>(cluster, podsIn(namespace), query), []);
  return pods.find(hasPullError) ?? pods[0];
}

async function eventsOf(cluster: Cluster, path: string, pod: string): Promise<PullEvent[]> {
  const query = { fieldSelector: `involvedObject.name=${pod},reason=Failed` };
  return ifAllowed(listOf<PullEvent>(cluster, path, query), []);
}

/**
 * Replaces `kubectl get … -o json` by one request on a persistent connection. Each run of kubectl
 * takes 60 ms of processor time, and a waiting test sends ten requests a second, while two other
 * tests run on the same two processor cores.
 */
import { connect } from "#kube/client/client.ts";
import { loadKubeConfig } from "#kube/load.ts";
import type { Replacing as Api } from "#kube/client/cluster.ts";

/** Kind as tests write it → path of its collection. `*` stands for the namespace. */
const collections: Readonly<Record<string, string>> = {
  crd: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
  daemonset: "/apis/apps/v1/namespaces/*/daemonsets",
  deployment: "/apis/apps/v1/namespaces/*/deployments",
  events: "/api/v1/namespaces/*/events",
  globalpullsecret: "/apis/globalpullsecret.io/v1alpha1/globalpullsecrets",
  gps: "/apis/globalpullsecret.io/v1alpha1/globalpullsecrets",
  lease: "/apis/coordination.k8s.io/v1/namespaces/*/leases",
  node: "/api/v1/nodes",
  pod: "/api/v1/namespaces/*/pods",
  pods: "/api/v1/namespaces/*/pods",
  role: "/apis/rbac.authorization.k8s.io/v1/namespaces/*/roles",
  rolebinding: "/apis/rbac.authorization.k8s.io/v1/namespaces/*/rolebindings",
  secret: "/api/v1/namespaces/*/secrets",
  secrets: "/api/v1/namespaces/*/secrets",
  serviceaccount: "/api/v1/namespaces/*/serviceaccounts",
};

/** Path and query; undefined for arguments that only kubectl understands. */
export type KubectlRequest = Readonly<{ path: string; query: Readonly<Record<string, string>> }>;

/** The API request of `kubectl get` with these arguments. */
export function askedBy(args: readonly string[]): KubectlRequest | undefined {
  const words: string[] = [];
  const query: Record<string, string> = {};
  let namespace = "default";
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at] ?? "";
    const [flag = "", value = ""] = word.split(/=(.*)/s);
    if (word === "-n") namespace = args[(at += 1)] ?? "";
    else if (flag === "--namespace") namespace = value;
    else if (word === "-l") query["labelSelector"] = args[(at += 1)] ?? "";
    else if (flag === "--field-selector") query["fieldSelector"] = value;
    else if (word.startsWith("-")) return undefined;
    else words.push(word);
  }
  const [kind = "", name, ...more] = words;
  const collection = collections[kind];
  const selects = Object.keys(query).length > 0;
  if (collection === undefined || more.length > 0 || (name !== undefined && selects))
    return undefined;
  const path = collection.replace("*", namespace);
  return { path: name === undefined ? path : `${path}/${name}`, query };
}

/** A connection as the kubeconfig's user. */
export function reader(kubeconfig: string): <T>(asked: KubectlRequest) => Promise<T | undefined> {
  let api: Api | undefined;
  return async <T>({ path, query }: KubectlRequest) => {
    if (api === undefined) {
      api = connect(loadKubeConfig(kubeconfig), () => {}, { manager: "kubectl" });
    }
    const search = new URLSearchParams(query).toString();
    return await api.get<T>(search === "" ? path : `${path}?${search}`);
  };
}

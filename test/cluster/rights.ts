/**
 * The rights of users, according to the API server's authorizer. `kubectl auth can-i` cannot be
 * used: it exits with 1 both for a missing right and for an unreachable server, and takes the text
 * after a slash as an object's name. `pods/exec` would be a pod named exec.
 */
import { connect } from "#kube/client/client.ts";
import { loadKubeConfig } from "#kube/load.ts";
import type { Replacing as Api } from "#kube/client/cluster.ts";
import type { Cluster } from "./cluster.ts";

const reviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
const connections = new Map<string, Api>();
/** For each connection, the resources that assertServed has already found on the API server. */
const served = new WeakMap<Api, Set<string>>();

/**
 * Returns true if a user is allowed to do this. For a service account, `user` is its full user
 * name. `what` is `resource[.group][:subresource][/name]`. Without `namespace`, the right is
 * checked in all namespaces, or on a cluster-wide object. Fails if the API server does not answer,
 * or serves no such resource.
 */
export async function may(
  { kubeconfig }: Pick<Cluster, "kubeconfig">,
  user: string,
  verb: string,
  what: string,
  namespace = "",
): Promise<boolean> {
  const [kind = "", name = ""] = what.split("/");
  const [type = "", subresource = ""] = kind.split(":");
  const [resource = "", group = ""] = type.split(/\.(.*)/);
  const api = connected(kubeconfig);
  // The API server does not serve the resources of `impersonate`, such as users and groups.
  if (verb !== "impersonate")
    await assertServed(api, group, type === kind ? resource : `${resource}/${subresource}`);
  const answer = await api.create<{ status: { allowed: boolean } }>(reviews, {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    spec: {
      user,
      groups: groupsOf(user),
      resourceAttributes: { verb, group, resource, subresource, name, namespace },
    },
  });
  return answer.status.allowed;
}

/**
 * Fails if the API server does not serve `what` (`resource[/subresource]`). Without this check, a
 * misspelt resource would look like a missing right.
 */
async function assertServed(api: Api, group: string, what: string): Promise<void> {
  const seen = served.get(api) ?? new Set();
  served.set(api, seen);
  const place = `${what} of ${group === "" ? "the core" : group}`;
  if (seen.has(place)) return;
  const root = group === "" ? "/api/v1" : await preferred(api, group);
  const list = await api.get<{ resources: readonly { name: string }[] }>(root);
  if (list?.resources.some(({ name }) => name === what) !== true)
    throw new Error(`${place}: the API server serves no such resource`);
  seen.add(place);
}

type Group = { preferredVersion: { groupVersion: string } };

async function preferred(api: Api, group: string): Promise<string> {
  const apiGroup = await api.get<Group>(`/apis/${group}`);
  return `/apis/${apiGroup?.preferredVersion.groupVersion}`;
}

/** The groups that the API server adds to an authenticated user. */
export function groupsOf(user: string): readonly string[] {
  const [, kind, namespace] = user.split(":");
  const accounts = ["system:serviceaccounts", `system:serviceaccounts:${namespace}`];
  return ["system:authenticated", ...(kind === "serviceaccount" ? accounts : [])];
}

function connected(kubeconfig: string): Api {
  const connection = connections.get(kubeconfig);
  if (connection !== undefined) return connection;
  const config = loadKubeConfig(kubeconfig);
  const api = connect(config, () => {}, { manager: "kubectl" });
  connections.set(kubeconfig, api);
  return api;
}

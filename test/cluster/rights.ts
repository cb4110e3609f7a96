/**
 * Who may do what, asked of the API server's authorizer itself. `kubectl auth can-i` ends with 1
 * for a no as for a server that is not there, and takes what follows a slash for an object's name:
 * `pods/exec` asks for a pod called exec.
 */
import { connect, loadKubeConfig } from "#kube/client/client.ts";
import type { Cluster as Api } from "#kube/client/cluster.ts";
import type { Cluster } from "./cluster.ts";

const reviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
const connections = new Map<string, Api>();

/**
 * Whether a user, or a service account by its whole user name, may do it. `what` is
 * `resource[.group][:subresource][/name]`. Without a namespace, in all of them or in none. Fails
 * where the API server does not tell.
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
  const answer = await connected(kubeconfig).create<{ status: { allowed: boolean } }>(reviews, {
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

/** What the API server adds to a user that has authenticated. */
function groupsOf(user: string): readonly string[] {
  const [, kind, namespace] = user.split(":");
  const accounts = ["system:serviceaccounts", `system:serviceaccounts:${namespace}`];
  return ["system:authenticated", ...(kind === "serviceaccount" ? accounts : [])];
}

function connected(kubeconfig: string): Api {
  const known = connections.get(kubeconfig);
  if (known !== undefined) return known;
  const config = loadKubeConfig(kubeconfig);
  const api = connect(config, () => {}, { manager: "kubectl" });
  connections.set(kubeconfig, api);
  return api;
}

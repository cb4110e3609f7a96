/** `fleet rbac`: prints the rights that a cluster must grant for a FleetSecret's target. */
import { namespace, globalPullSecretName } from "#contract/names.ts";
import { target } from "#plugin/clusters/profile.ts";
import { command } from "#plugin/terminal/command.ts";
import { fleetGuard, objectsOf } from "#contract/joined.ts";
import type { Target } from "#plugin/joining/rights.ts";

export const rbac = command(
  {
    group: "fleet",
    what: "print the rights that a FleetSecret needs in a cluster, to apply there",
    example: "--target kube-system/fleet-pull-secret",
    more:
      "Prints an account, a Role for that one Secret, and an admission policy that prevents\n" +
      "Kubernetes from filling the Secret with another account's token (Kubernetes 1.30). For\n" +
      "kube-system/fleet-pull-secret it also prints the right to read that cluster's\n" +
      "GlobalPullSecret, which shows whether the nodes have the Secret.",
    flags: {
      target: {
        read: target,
        standard: `${namespace}/pull-secret`,
        what: "the FleetSecret's target, NAMESPACE/NAME",
      },
    },
  },
  async ({ target: fleetTarget }, io) => {
    const documents = [...guards, ...rightsFor(fleetTarget)];
    io.out((await Promise.all(documents.map((document) => io.yaml(document)))).join("---\n"));
    return 0;
  },
);

const group = "rbac.authorization.k8s.io";
/** The name of all the objects, and of the account that the kubeconfigs use. */
const name = "global-pull-secret-fleet";

/**
 * Policies to apply before the rights. RBAC restricts the Secret's name, but not its type. Without
 * these policies, the account could create the Secret with a type for tokens, and Kubernetes would
 * fill the Secret with the token of any ServiceAccount in the Secret's namespace.
 */
const guards: readonly object[] = objectsOf(fleetGuard(name)).map(({ body }) => body);

/**
 * The ServiceAccount, the Role and its binding. If the cluster's own controller rolls the Secret
 * out, also the right to read the cluster's GlobalPullSecret, which reports about its nodes.
 */
function rightsFor(target: Target): readonly object[] {
  const metadata = { name, namespace: target.namespace };
  const reading = ["get", "list", "watch"];
  const placed = {
    apiGroups: [""],
    resources: ["secrets"],
    resourceNames: [target.name],
    verbs: [...reading, "create", "patch", "delete"],
  };
  const witness = {
    apiGroups: ["globalpullsecret.io"],
    resources: ["globalpullsecrets"],
    resourceNames: [globalPullSecretName],
    verbs: reading,
  };
  const handedOver = target.namespace === namespace && target.name === "fleet-pull-secret";
  const account = { kind: "ServiceAccount", ...metadata };
  const pair = (kind: string, its: object, rule: object) => [
    { apiVersion: `${group}/v1`, kind, metadata: its, rules: [rule] },
    {
      apiVersion: `${group}/v1`,
      kind: `${kind}Binding`,
      metadata: its,
      roleRef: { apiGroup: group, kind, name },
      subjects: [account],
    },
  ];
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata },
    ...pair("Role", metadata, placed),
    ...(handedOver ? pair("ClusterRole", { name }, witness) : []),
  ];
}

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
    for (const guard of guards) io.out(`${await io.yaml(guard)}---\n`);
    io.out(guestRights(fleetTarget));
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
 * The ServiceAccount, the Role and its binding as YAML. If the cluster's own controller rolls the
 * Secret out, also the right to read the cluster's GlobalPullSecret, which reports about its nodes.
 */
function guestRights(target: Target): string {
  const where = JSON.stringify(target.namespace);
  const placed = {
    group: "",
    resource: "secrets",
    name: target.name,
    verbs: "get, list, watch, create, patch, delete",
  };
  const witness = {
    group: "globalpullsecret.io",
    resource: "globalpullsecrets",
    name: globalPullSecretName,
    verbs: "get, list, watch",
  };
  const handedOver = target.namespace === namespace && target.name === "fleet-pull-secret";
  const account =
    `apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: ${name}\n` +
    `  namespace: ${where}\n`;
  return [
    account,
    ...pair("", `\n  namespace: ${where}`, where, placed),
    ...(handedOver ? pair("Cluster", "", where, witness) : []),
  ].join("---\n");
}

type GrantedRule = Readonly<{ group: string; resource: string; name: string; verbs: string }>;

/** A Role and its binding, or a ClusterRole and its binding. */
function pair(scope: "" | "Cluster", place: string, where: string, rule: GrantedRule): string[] {
  const head = (kind: string) =>
    `apiVersion: ${group}/v1\nkind: ${kind}\nmetadata:\n  name: ${name}${place}\n`;
  const role = `${scope}Role`;
  return [
    `${head(role)}rules:
  - apiGroups: ["${rule.group}"]
    resources: [${rule.resource}]
    resourceNames: [${JSON.stringify(rule.name)}]
    verbs: [${rule.verbs}]
`,
    `${head(`${role}Binding`)}roleRef:
  apiGroup: ${group}
  kind: ${role}
  name: ${name}
subjects:
  - kind: ServiceAccount
    name: ${name}
    namespace: ${where}
`,
  ];
}

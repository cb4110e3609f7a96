/**
 * The names and admission policies of a joined cluster. RBAC checks the names in a request, not its
 * content; the policies check the content. Pure data, as server-side apply takes it.
 */
import { isFields } from "./fields.ts";
import { isDeepStrictEqual } from "node:util";
import { fleetManagedBy, fleetOwnerAnnotation, namespace } from "./names.ts";
import { keysSet, sameOwners } from "./own-metadata.ts";

/** In the management cluster: the namespace of joined clusters' ClusterProfiles and tokens. */
export const clustersNamespace = "global-pull-secret-clusters";

/** The manager of joined clusters' ClusterProfiles. */
export const clusterManager = "globalpullsecret.io";

/**
 * A label on every ClusterProfile. Its value is the manager's name, as the inventory's conventions
 * require.
 */
export const clusterManagerLabel = "x-k8s.io/cluster-manager";

/**
 * The key of the token in the Secret of a ClusterProfile. The inventory's own programs that read
 * such Secrets expect this key.
 */
export const tokenKey = "token";

/** In a joined cluster, in kube-system: ServiceAccount, Role, ClusterRole and their bindings. */
export const joinedName = "global-pull-secret-joined";

/** The Secret of a joined cluster to which its token is bound. Deleting it voids the token. */
export const boundName = `${joinedName}-token`;

/**
 * Annotation on every object that a join creates in the joined cluster: `ID/NAME`. ID is the
 * management cluster's id. NAME is the joined cluster's name in the management cluster.
 */
export const joinedByAnnotation = "globalpullsecret.io/joined-by";

/**
 * Label on a ClusterProfile: `fleet remove` is removing the cluster. FleetSecrets no longer
 * select the cluster, and drop it from their status at once, because the command itself deletes the
 * Secrets that they placed there.
 */
export const leavingLabel = "globalpullsecret.io/leaving";

/**
 * Annotation on a ClusterProfile: the UID of the cluster's kube-system namespace. With the UID, we
 * notice that a context leads to a wrong cluster.
 */
export const clusterIdAnnotation = "globalpullsecret.io/cluster-id";

/** Annotation on a ClusterProfile: the kubeconfig context with which the cluster was joined. */
export const contextAnnotation = "globalpullsecret.io/context";

/**
 * Annotations on a ClusterProfile: the flags `--server`, `--tls-server-name` and `--system-roots`
 * of its join, if given.
 */
export const serverAnnotation = "globalpullsecret.io/server";
export const serverNameAnnotation = "globalpullsecret.io/tls-server-name";
export const systemRootsAnnotation = "globalpullsecret.io/system-roots";

/**
 * Annotation on a ClusterProfile: the time of its last join, in RFC 3339. When it changes, the
 * fleet's controller checks the cluster at once.
 */
export const joinedAtAnnotation = "globalpullsecret.io/joined-at";

/**
 * Seconds of validity that we request for a token. The API server can shorten the validity; the
 * times in the token are the valid ones.
 */
export const tokenSeconds = 30 * 24 * 3600;

/** A CEL list: the keys that a request for a placed Secret sets and the fleet does not. */
const foreign =
  `${keysSet("labels", fleetManagedBy)} + ${keysSet("annotations", [fleetOwnerAnnotation])}`.replaceAll(
    /\n\s*/g,
    " ",
  );

/** One ValidatingAdmissionPolicy and its binding; both have this name. */
export type Guard = Readonly<{ name: string; spec: object }>;

const admission = "admissionregistration.k8s.io/v1";

const user = (account: string) => `system:serviceaccount:${namespace}:${account}`;

type Checks = Readonly<{ variables?: readonly object[]; validations: readonly object[] }>;

/** A policy for one account. Requests of other accounts are not checked. */
function guard(name: string, who: string, rules: readonly object[], checks: Checks): Guard {
  const resourceRules = rules.map((rule) => ({ apiGroups: [""], apiVersions: ["v1"], ...rule }));
  const matchConstraints = { resourceRules };
  const spec = {
    // Fail closed: a request that cannot be checked is refused.
    failurePolicy: "Fail",
    matchConstraints,
    matchConditions: [{ name: "account", expression: who }],
    // Without a `reason`, the API server refuses with 422, which differs from RBAC's 403.
    ...checks,
  };
  return { name, spec };
}

const operations = ["CREATE", "UPDATE"];

/**
 * Refuses Secrets of a type that Kubernetes turns into a credential. Kubernetes fills a Secret of
 * type service-account-token with a token of the account that the Secret names. A Secret of type
 * bootstrap.kubernetes.io/token lets nodes join. Also refuses labels and annotations of other
 * programs: Helm treats any Secret with Helm's labels as a release, and Argo CD treats any Secret
 * with Argo CD's label as a cluster. A finalizer would keep a namespace from being
 * deleted.
 */
const secretsOf = (name: string, who: string, ...more: object[]): Guard =>
  guard(name, who, [{ resources: ["secrets"], operations }, ...more], {
    variables: [{ name: "foreign", expression: foreign }],
    validations: [
      {
        expression:
          "!(dyn(object).?type.orValue('') in ['kubernetes.io/service-account-token', 'bootstrap.kubernetes.io/token'])",
        message: "this account may not write Secrets that Kubernetes turns into a token",
      },
      {
        expression: sameOwners,
        message: "this account may not change owners and finalizers",
      },
      {
        expression: "variables.foreign == []",
        messageExpression:
          "'labels and annotations that this account may not change: ' + variables.foreign.join(', ')",
      },
    ],
  });

/** The policies for a joined cluster's account. */
export const joinedGuards: readonly Guard[] = [
  secretsOf(`${joinedName}-secrets`, `request.userInfo.username == '${user(joinedName)}'`),
  guard(
    `${joinedName}-tokens`,
    `request.userInfo.username == '${user(joinedName)}'`,
    [{ resources: ["serviceaccounts/token"], operations: ["CREATE"] }],
    {
      validations: [
        {
          // The token must be bound to our Secret, because we void the token by deleting that
          // Secret. Without this rule, a thief could request a token that is bound to another
          // Secret.
          expression:
            "has(object.spec.boundObjectRef) && object.spec.boundObjectRef.kind == 'Secret' && " +
            `object.spec.boundObjectRef.name == '${boundName}' && ` +
            `object.spec.expirationSeconds <= ${tokenSeconds}`,
          message: `a token of this account must be bound to Secret ${boundName}, for 30 days at most`,
        },
      ],
    },
  ),
];

/** The policy for an account that `fleet rbac` prints. One policy serves every namespace. */
export const fleetGuard = (account: string): Guard =>
  secretsOf(
    `${account}-secrets`,
    "request.userInfo.username.startsWith('system:serviceaccount:') && " +
      `request.userInfo.username.endsWith(':${account}')`,
    // `via: ClusterResourceSet` writes such an object beside the Secret.
    {
      apiGroups: ["addons.cluster.x-k8s.io"],
      apiVersions: ["*"],
      resources: ["clusterresourcesets"],
      operations,
    },
  );

/** The binding puts the policy in force in all namespaces. Its action is Deny. */
const bindingOf = ({ name }: Guard) => ({ policyName: name, validationActions: ["Deny"] });

/**
 * Both objects of a guard, each with its path. The policy comes before the binding that puts it in
 * force.
 */
export const objectsOf = (policy: Guard, metadata: object = {}) => [
  {
    path: `/apis/${admission}/validatingadmissionpolicies/${policy.name}`,
    body: {
      apiVersion: admission,
      kind: "ValidatingAdmissionPolicy",
      metadata: { name: policy.name, ...metadata },
      spec: policy.spec,
    },
  },
  {
    path: `/apis/${admission}/validatingadmissionpolicybindings/${policy.name}`,
    body: {
      apiVersion: admission,
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: { name: policy.name, ...metadata },
      spec: bindingOf(policy),
    },
  },
];

/**
 * The fields that an API server adds to the spec of such a policy. It adds nothing to a binding.
 */
const addedToConstraints = { matchPolicy: "Equivalent", namespaceSelector: {}, objectSelector: {} };
const addedToRule = { scope: "*" };

/**
 * Whether the spec of a policy or a binding is the wanted one, with or without the API server's
 * additions. Any other field makes the spec differ, because fields such as an excluded resource or
 * a selector in the binding would switch the guard off.
 */
export const isAsMade = (live: unknown, declared: object): boolean =>
  isDeepStrictEqual(completed(live), completed(declared));

/** The spec with the API server's additions. */
function completed(spec: unknown): unknown {
  if (!isFields(spec) || !isFields(spec["matchConstraints"])) return spec;
  const { matchConstraints } = spec;
  const { resourceRules } = matchConstraints;
  const rules = Array.isArray(resourceRules)
    ? resourceRules.map((rule: unknown) => (isFields(rule) ? { ...addedToRule, ...rule } : rule))
    : resourceRules;
  return {
    ...spec,
    matchConstraints: { ...addedToConstraints, ...matchConstraints, resourceRules: rules },
  };
}

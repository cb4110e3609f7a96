/**
 * What a cluster is joined with: names, and admission policies for what RBAC cannot see. RBAC knows
 * the names in a request, not its content. Pure data, as server-side apply takes it.
 */
import { namespace } from "./names.ts";

/** In the management cluster: where the ClusterProfiles of joined clusters and their tokens are. */
export const clustersNamespace = "global-pull-secret-clusters";

/** Who keeps the ClusterProfiles of joined clusters. */
export const clusterManager = "globalpullsecret.io";

/** On every ClusterProfile, with its manager's name, as the inventory's conventions ask. */
export const clusterManagerLabel = "x-k8s.io/cluster-manager";

/** The cluster profile's key of a token in its Secret, as the reference secret reader has it. */
export const tokenKey = "token";

/** In a joined cluster, in kube-system: ServiceAccount, Role, ClusterRole and their bindings. */
export const joinedName = "global-pull-secret-joined";

/** The Secret of a joined cluster that its token is bound to: without it the token is void. */
export const boundName = `${joinedName}-token`;

/** On what a join makes in a cluster: `ID/NAME`, the joining cluster's id and its name for this. */
export const joinedByAnnotation = "globalpullsecret.io/joined-by";

/** On a ClusterProfile: uid of the cluster's kube-system, by which a wrong context is noticed. */
export const clusterIdAnnotation = "globalpullsecret.io/cluster-id";

/** On a ClusterProfile: the kubeconfig's context that it was joined with. */
export const contextAnnotation = "globalpullsecret.io/context";

/**
 * On a ClusterProfile: `--server`, `--tls-server-name` and `--system-roots` of its join, where they
 * were given.
 */
export const serverAnnotation = "globalpullsecret.io/server";
export const serverNameAnnotation = "globalpullsecret.io/tls-server-name";
export const systemRootsAnnotation = "globalpullsecret.io/system-roots";

/** On a token's Secret: from when and until when the API server gave it, in RFC 3339. */
export const issuedAnnotation = "globalpullsecret.io/token-issued";
export const expiresAnnotation = "globalpullsecret.io/token-expires";

/** Seconds that a token is asked for; the server may give fewer, and is believed. */
export const tokenSeconds = 30 * 24 * 3600;

/** One ValidatingAdmissionPolicy with its binding; both have this name. */
export type Guard = Readonly<{ name: string; spec: object }>;

const admission = "admissionregistration.k8s.io/v1";

const user = (account: string) => `system:serviceaccount:${namespace}:${account}`;

/** Of the account alone: whatever else is written in the cluster is not judged. */
function guard(name: string, who: string, rule: object, validation: object): Guard {
  const matchConstraints = { resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], ...rule }] };
  const spec = {
    // A wall with a hole is none: what cannot be judged is refused.
    failurePolicy: "Fail",
    matchConstraints,
    matchConditions: [{ name: "account", expression: who }],
    // No reason is given, so a refusal is 422: RBAC's 403 is told apart from it.
    validations: [validation],
  };
  return { name, spec };
}

/**
 * No Secret of a type that Kubernetes itself makes a credential of. A Secret of type
 * service-account-token is filled with a token of whatever account it names, one of type
 * bootstrap.kubernetes.io/token lets nodes join.
 */
const secretsOf = (name: string, who: string): Guard =>
  guard(
    name,
    who,
    { resources: ["secrets"], operations: ["CREATE", "UPDATE"] },
    {
      expression:
        "!(object.type in ['kubernetes.io/service-account-token', 'bootstrap.kubernetes.io/token'])",
      message: "this account writes no Secret that Kubernetes makes a token of",
    },
  );

/** Those of a joined cluster's account. */
export const joinedGuards: readonly Guard[] = [
  secretsOf(`${joinedName}-secrets`, `request.userInfo.username == '${user(joinedName)}'`),
  guard(
    `${joinedName}-tokens`,
    `request.userInfo.username == '${user(joinedName)}'`,
    { resources: ["serviceaccounts/token"], operations: ["CREATE"] },
    {
      // Bound to that Secret, whose deletion voids it; any other could be the thief's own.
      expression:
        "has(object.spec.boundObjectRef) && object.spec.boundObjectRef.kind == 'Secret' && " +
        `object.spec.boundObjectRef.name == '${boundName}' && ` +
        `object.spec.expirationSeconds <= ${tokenSeconds}`,
      message: `a token of this account is bound to Secret ${boundName}, for 30 days at most`,
    },
  ),
];

/** That of an account that `fleet rbac` prints, of whatever namespace: one serves all. */
export const fleetGuard = (account: string): Guard =>
  secretsOf(
    `${account}-secrets`,
    "request.userInfo.username.startsWith('system:serviceaccount:') && " +
      `request.userInfo.username.endsWith(':${account}')`,
  );

/** The binding: to refuse, everywhere. */
const bindingOf = ({ name }: Guard) => ({ policyName: name, validationActions: ["Deny"] });

/** Both objects of a guard, each with its path; the policy before what puts it in force. */
export const objectsOf = (one: Guard, metadata: object = {}) => [
  {
    path: `/apis/${admission}/validatingadmissionpolicies/${one.name}`,
    body: {
      apiVersion: admission,
      kind: "ValidatingAdmissionPolicy",
      metadata: { name: one.name, ...metadata },
      spec: one.spec,
    },
  },
  {
    path: `/apis/${admission}/validatingadmissionpolicybindings/${one.name}`,
    body: {
      apiVersion: admission,
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: { name: one.name, ...metadata },
      spec: bindingOf(one),
    },
  },
];

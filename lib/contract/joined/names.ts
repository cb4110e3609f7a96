/** The names by which clusters are joined, and known to whoever serves them. */

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

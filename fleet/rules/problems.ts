/** Every problem that the fleet's controller reports, each with its code. */
import { messagesOf, type Catalogue } from "#contract/catalogue.ts";

/** Kind → code, problem, action. `sentence` replaces `{}` by the detail. */
export const catalogue = {
  sourceMissing: ["GPS431", "the Secret {} does not exist, or has no entries", "create it"],
  sourceInvalid: ["GPS432", "{}", "correct the Secret"],
  sourceType: [
    "GPS433",
    "a Secret of type {} gives access to one cluster only",
    "name another Secret",
  ],
  foreign: [
    "GPS435",
    "the target exists and belongs to {}",
    "delete it there, or set spec.conflicts: Adopt if no other FleetSecret placed it",
  ],
  noKubeconfig: [
    "GPS436",
    "the Secret {} does not exist, or has no entries",
    "no action needed while the cluster is being created",
  ],
  kubeconfig: ["GPS437", "the kubeconfig cannot be used: {}", "correct it"],
  unreachable: [
    "GPS438",
    "{}",
    "if this lasts, correct the server in its kubeconfig, or open the network to it",
  ],
  denied: [
    "GPS476",
    "the cluster does not admit our account: {}",
    "renew its credential, or grant it access; kubectl pull-secret fleet rbac prints how",
  ],
  refused: ["GPS439", "{}", "allow the target to be written and deleted in that cluster"],
  rejected: [
    "GPS475",
    "the API server rejects the content as invalid: {}",
    "correct the Secret; if other clusters accept it, check the admission in this cluster",
  ],
  mutated: [
    "GPS440",
    "admission in the cluster changes the Secret",
    "exclude the target from that policy",
  ],
  halted: ["GPS441", "{} refuse the content", "correct the Secret or these clusters"],
  tooMany: [
    "GPS442",
    "an object serves at most 1,000 clusters, including those that are leaving: {} are not served",
    "select fewer clusters with each object",
  ],
  unreadable: ["GPS443", "{}", "grant access, or wait until the API server answers"],
  noProfile: [
    "GPS445",
    "the ClusterProfile {} does not exist",
    "no action needed if the cluster is gone",
  ],
  noProvider: [
    "GPS446",
    "the ClusterProfile has no access provider {}",
    "the profile's manager has to write one of these providers",
  ],
  provider: [
    "GPS447",
    "the ClusterProfile's access provider is not valid: {}",
    "correct the profile's status",
  ],
  noCredential: [
    "GPS448",
    "the ClusterProfile's namespace has no Secret with this key: {}",
    "create it, or join the cluster again",
  ],
  everyProfile: [
    "GPS449",
    "clusterProfiles.selector is {}, so every ClusterProfile of these managers is selected",
    "add labels, unless all of them are intended",
  ],
  awaited: [
    "GPS451",
    "the Secret is there, but the nodes have not proved it: {}",
    "no action needed",
  ],
  held: [
    "GPS452",
    "the Secret is there, but the cluster's own controller does not use it: {}",
    "check globalpullsecret/cluster in that cluster",
  ],
  refusedThere: [
    "GPS453",
    "the Secret is there, but the cluster's own controller or its nodes refuse it: {}",
    "check globalpullsecret/cluster in that cluster, or correct the Secret",
  ],
  notListed: [
    "GPS454",
    "the Secret is there, but no GlobalPullSecret lists {} as a source, so no node has it",
    "list it there as a source",
  ],
  witness: [
    "GPS455",
    "the right to read the cluster's GlobalPullSecret is missing: {}",
    "grant it; kubectl pull-secret fleet rbac prints how",
  ],
  witnessFails: [
    "GPS459",
    "the cluster's GlobalPullSecret cannot be read: {}",
    "check that cluster's API server",
  ],
  slow: [
    "GPS456",
    "the Secret is there, but the cluster has not proved it within two minutes",
    "no action needed if its nodes follow one by one; otherwise check globalpullsecret/cluster there",
  ],
  excess: [
    "GPS460",
    "the API server sends more events or bytes than one object needs",
    "find out who changes the Secret or globalpullsecret/cluster there",
  ],
  contested: [
    "GPS461",
    "the Secret does not stay there: after five writes, the API server still showed another Secret or none",
    "find out who changes the Secret there",
  ],
  deleting: [
    "GPS462",
    "the object is being deleted, but a finalizer holds it",
    "remove the finalizer, or ask who set it",
  ],
  taken: [
    "GPS468",
    "the FleetSecret {} takes the Secret over",
    "no action needed while that one is rolling out; otherwise see its status",
  ],
  everyNamespace: [
    "GPS457",
    "namespaceSelector is {}, so every namespace is selected",
    "add labels, unless all of them are intended",
  ],
  byClusterAPI: [
    "GPS458",
    "Cluster API delivers, so nothing is proved, repaired or removed in the clusters",
    "set via: Direct if this is needed",
  ],
} as const satisfies Catalogue;

const lasting = (["kubeconfig", "denied", "noProvider", "provider"] as const).map(
  (kind) => catalogue[kind][0],
);

/** True if the cluster stays unreachable until an administrator acts. */
export const isLasting = (why: string): boolean => lasting.some((code) => why.startsWith(code));

export const { codeOf, sentence } = messagesOf(catalogue);

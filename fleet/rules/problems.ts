/** Everything that the fleet's controller can find wrong, each with its code. */
import type { Catalogue } from "#contract/catalogue.ts";
import { escape } from "#pullsecret/problems/keypath.ts";

/** Kind → code, what is wrong, what to do. `{}` stands for the detail. */
export const catalogue = {
  sourceMissing: ["GPS431", "the Secret {} is not there", "create it; nothing is taken away"],
  sourceInvalid: ["GPS432", "{}", "correct the Secret; the clusters keep what they have"],
  sourceType: [
    "GPS433",
    "a Secret of type {} opens one cluster",
    "name another: what opens one cluster is not brought to others",
  ],
  conflict: [
    "GPS434",
    "{} is older, has the same target and serves this cluster",
    "select the cluster by one of the two, or give another target",
  ],
  foreign: [
    "GPS435",
    "the target exists and was not placed by this object",
    "delete it there, or set spec.conflicts: Adopt; it is not touched",
  ],
  noKubeconfig: [
    "GPS436",
    "there is no Secret {}",
    "no action needed while the cluster is being made",
  ],
  kubeconfig: [
    "GPS437",
    "the kubeconfig cannot be used: {}",
    "correct it; nothing is connected to",
  ],
  unreachable: ["GPS438", "{}", "no action needed if the cluster is away for a while"],
  denied: [
    "GPS476",
    "our account is not admitted: {}",
    "renew its credential, or grant it: kubectl pull-secret fleet rbac prints how",
  ],
  refused: ["GPS439", "{}", "let the target be written, and deleted, there"],
  rejected: [
    "GPS475",
    "its API server finds the content invalid: {}",
    "correct the Secret; if other clusters take it, look at the admission there",
  ],
  mutated: ["GPS440", "admission there changes the Secret", "leave the target out of that policy"],
  halted: ["GPS441", "{} refuse the content", "correct the Secret or these clusters"],
  tooMany: [
    "GPS442",
    "1,000 clusters are the most, those that are leaving included: {} are not served",
    "select fewer with each object",
  ],
  unreadable: ["GPS443", "{}", "grant it, or wait until the API server answers"],
  noProfile: ["GPS445", "there is no ClusterProfile {}", "no action needed if the cluster is gone"],
  noProvider: [
    "GPS446",
    "the ClusterProfile has no access provider {}",
    "have its manager write one of them: no other is run",
  ],
  provider: ["GPS447", "the ClusterProfile's access provider: {}", "correct the profile's status"],
  noCredential: [
    "GPS448",
    "there is no Secret and key {} beside the ClusterProfile",
    "create it, or join the cluster again",
  ],
  everyProfile: [
    "GPS449",
    "clusterProfiles.selector is {}: every ClusterProfile of these managers there is selected",
    "name labels, unless all of them are intended",
  ],
  awaited: [
    "GPS451",
    "it is there, and not proved: {}",
    "no action needed; its own controller is rolling it out",
  ],
  held: [
    "GPS452",
    "it is there, and its own controller does not take it up: {}",
    "look at globalpullsecret/cluster there; no other cluster waits for it",
  ],
  refusedThere: [
    "GPS453",
    "it is there, and its own controller or its nodes refuse it: {}",
    "look at globalpullsecret/cluster there, or correct the Secret",
  ],
  notListed: [
    "GPS454",
    "read back there; no GlobalPullSecret lists {}, so no node has proved it",
    "list it there as a source to have it on the nodes",
  ],
  witness: [
    "GPS455",
    "its GlobalPullSecret may not be read: {}",
    "grant it, kubectl pull-secret fleet rbac prints how",
  ],
  witnessFails: [
    "GPS459",
    "its GlobalPullSecret cannot be read: {}",
    "look at that cluster's API server; no other cluster waits for it",
  ],
  late: [
    "GPS456",
    "its nodes do not have it within rollout.progressDeadline",
    "look at globalpullsecret/cluster there; no other cluster waits for it",
  ],
  excess: [
    "GPS460",
    "its API server sends more events or bytes than one object has to say",
    "look at who changes the Secret or globalpullsecret/cluster there; it is asked in pauses",
  ],
  contested: [
    "GPS461",
    "what is placed does not last there: five writes of it were undone, or never shown",
    "look at who changes the Secret there; it is tried once a minute, and holds up no other",
  ],
  everyNamespace: [
    "GPS457",
    "namespaceSelector is {}: every namespace is selected",
    "name labels, unless all of them are intended",
  ],
  byClusterAPI: [
    "GPS458",
    "Cluster API delivers: nothing is proved, repaired or taken away in the clusters",
    "ask for via: Direct where it should be",
  ],
} as const satisfies Catalogue;

const lasting = (["kubeconfig", "denied", "noProvider", "provider"] as const).map(
  (kind) => catalogue[kind][0],
);

/** True for a cluster that is not reached for a reason that only a person can end. */
export const isLasting = (why: string): boolean => lasting.some((code) => why.startsWith(code));

export const codeOf = (kind: keyof typeof catalogue): string => catalogue[kind][0];

/** `GPS431: what is wrong; what to do`: one line of at most 500 characters. */
export function sentence(kind: keyof typeof catalogue, detail = ""): string {
  const [code, what, todo] = catalogue[kind];
  const shown = escape(detail.slice(0, 300));
  return `${code}: ${what.replace("{}", () => shown)}; ${todo}`.slice(0, 500);
}

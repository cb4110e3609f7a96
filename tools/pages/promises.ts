/**
 * What the product promises, by number. The name of a test that shows a promise begins with its
 * number. Pure: test runners import it.
 */

/** Number → what is promised. */
export const promises: Readonly<Record<string, string>> = {
  H1: "An administrator of the cluster adds a credential alone: whoever may write that one Secret needs nobody's help.",
  H2: "The credential is declared as Secret `kube-system/additional-pull-secret`, type `kubernetes.io/dockerconfigjson`, key `.dockerconfigjson`, with an `auth` for each registry under `auths`.",
  H3: "It is merged with the cluster's original pull secret, and a rotation of either flows on.",
  H4: "Every node gets the result: cordoned, tainted, joining and returning ones too.",
  H5: "Nothing else has to be done: the Secret alone brings everything.",
  H6: "Its creation and each change are seen at once, by watches that survive their connection.",
  H7: "It is validated before anything is deployed: what is refused changes nothing.",
  H8: "The original may live on another API server, that of the hosted control plane.",
  H9: "Where both name a registry, the additional one wins, unless policy says otherwise.",
  H10: "The result is Secret `kube-system/global-pull-secret`.",
  H11: "ServiceAccount, Role and RoleBinding of the agents are called `global-pull-secret-syncer`.",
  H12: "DaemonSet `kube-system/global-pull-secret-syncer` puts an agent on each node.",
  H13: "Its pods carry the label `name=global-pull-secret-syncer`.",
  H14: "`kubectl get` of the DaemonSet, of the Secret and of the pods by label shows that it works.",
  H15: "Each agent watches `global-pull-secret`, and takes its own revision of it and no other.",
  H16: "On a change it rewrites the kubelet's `config.json`, and keeps what others wrote there.",
  H17: "It restarts the kubelet over D-Bus to apply the change, on as many nodes at once as the budget allows.",
  H18: "A kubelet that fails three restarts gets the old file back.",
  H19: "Nothing is written and nothing restarted unless the content really changed.",
  H20: "Deleting the Secret takes the entries off every node, and then the DaemonSet, the ServiceAccount, the Role and the RoleBinding.",
  H21: "With them goes `global-pull-secret`, and all else that the product made for itself.",
  H22: "Only kube-system is touched, and there only the Secrets that are named.",
  H23: "Nobody has a right that is not needed: neither the controller nor the agents.",
  H24: "An invalid document is reported early, with what is wrong and where, and never with a credential.",
  H25: "Controller, agent and command line are programs of their own, in packages that need each other in one direction only.",
  HD: "Things happen in the drawn order: the Secret, the controller, `global-pull-secret`, ServiceAccount, Role, RoleBinding, DaemonSet, the agent, the file, D-Bus, the kubelet.",
  K1: "One Secret of the management cluster, `kube-system/source-pull-secret`, is brought to many clusters.",
  K2: "One declarative object names it.",
  K3: "The clusters are chosen by labels of their namespaces, and of the Clusters themselves; no other cluster is touched.",
  K4: "Where Cluster API delivers, each namespace gets Secret `crs-pull-secret`, type `addons.cluster.x-k8s.io/resource-set`, and a ClusterResourceSet of that name.",
  K5: "That selects the Cluster whose label `cluster.x-k8s.io/cluster-name` is its namespace's name, with strategy Reconcile.",
  K6: "Each gets `kube-system/pull-secret` with identical content and type.",
  K7: "Narrowed to Secrets: of any type, but for those that open one cluster. For any other resource the page names Flux, Argo CD and Sveltos.",
  K8: "The object may exist before the Secret: who deploys it never reads the value.",
  K9: "A change of the Secret reaches every cluster by itself, and so does a cluster that is declared later.",
  K11: "It works in an air-gapped cluster whose images all come from a private registry.",
  K12: "A cluster need not be called as its namespace, nor be the only one there, and the selectors are yours.",
  L1: "Only what is wrapped in a SyncSecret leaves the tenant's cluster.",
  L2: "A tenant is confined to its own namespace of the management cluster.",
  L3: "Finalizers guarantee that what was made of a SyncSecret goes with it, whoever was killed meanwhile.",
  L4: "What is stored in the management cluster is named by UIDs, so that no name collides or is chosen by a tenant.",
  L5: "The tenant's side brings each SyncSecret to the tenant's namespace of the management cluster.",
  L6: "What is brought says where it comes from: origin-name and origin-namespace, and nothing else of its metadata.",
  L7: "Deleting a SyncSecret takes away what was made of it.",
  L8: "The management side makes a Secret of the same data.",
  L9: "That Secret has the SyncSecret for its owner.",
  L10: "A change of the SyncSecret reaches the Secret.",
  L11: "The Secret goes when its SyncSecret does.",
  L12: "A SyncSecret has a Secret's own fields: data, stringData, type and immutable.",
  L13: "Opaque, tls, dockerconfigjson, basic-auth, ssh-auth and service-account-token all arrive, the last one as Opaque.",
  L14: "What is immutable cannot be changed anywhere, and neither can any type.",
  L15: "A dockerconfigjson arrives as a Secret that can be pulled with.",
  L16: "A derived Secret that somebody edits is repaired, whatever was edited.",
  L17: "Every Secret has its owner, and what lost it is found.",
  L18: "The tenant's object goes last: the copy is deleted, its end awaited, then the finalizer removed.",
  L19: "In the management cluster it is the same for the Secret.",
  L20: "No finalizer has to be removed by hand: what is held up ends by itself at its deadline, and what was left behind is collected later.",
  L21: "The management side has rights on SyncSecrets and Secrets of tenants' namespaces, and on no other Secret.",
  L22: "The tenant's side has no right on any Secret of the management cluster, and in its own cluster on that of its kubeconfig alone.",
  L23: "A copy is in the tenant's namespace there, whatever namespace it comes from, with a UID of its own.",
  L24: "What is not there is created, and what is there is updated.",
  L25: "A conflict is tried again on what is there then.",
  L26: "What is the same already makes no call.",
  L27: "Both sides count and time their reconciles by namespace.",
  L28: "Both sides log creations, updates, cleanups and errors.",
  L29: "A line of the log is one JSON object that says which namespace it is about.",
  L30: "Metrics are at `:8080/metrics`.",
  L31: "The page's recipes show why something does not appear, is not made, does not follow or was orphaned.",
  L32: "Only who is granted it reads or makes SyncSecrets; the page says how they are used well.",
  L33: "A walk-through leads from the tenant's Secret to an Ingress that uses it.",
  M1: "A cluster is joined from the host with one command.",
  M2: "The host shows of every joined cluster whether it is joined and healthy.",
  M3: "Clusters are reached by the caller's own contexts, whatever these are renamed to.",
  M4: "Narrowed to manifests that are placed once: one command brings them to all clusters, or to those that are named. For standing ones the page names Flux, Argo CD and Sveltos.",
  M5: "A Deployment with a private image and its pull secret is brought to every cluster.",
  M6: "So is any other kind: rights, definitions, and objects of these.",
  M7: "The encryption's controller is installed in every cluster, in a namespace of choice.",
  M8: "A command seals a Secret of any type with a cluster's public certificate.",
  M9: "A sealed file is safe in version control.",
  M10: "One sealed file opens in every cluster that has the same key pair.",
  M11: "What is sealed is a pull secret that nodes can use.",
  M13: "All of it is managed from one place, and taken away from there.",
};

type Prose = Readonly<{ sentence: string; page: string }>;

/** Number → what a page says and no test can show, and where. */
export const prose: Readonly<Record<string, Prose>> = {
  K10: {
    sentence: "Beside Cluster API no add-on is needed: one object and one controller do it.",
    page: "extend/fleet.md#few-pieces-and-air-gapped",
  },
  K13: {
    sentence: "Objections to a credential on the nodes are answered.",
    page: "extend/fleet.md#few-pieces-and-air-gapped",
  },
  M12: {
    sentence: "Which problems of secrets are solved, and which are not, is said of each.",
    page: "extend/clusters.md#which-problems-are-solved",
  },
};

const number = /\b(?:[HKLM]\d+|HD)\b/g;

/** The numbers that a name contains, wherever they are in it. */
export const numbersIn = (name: string): readonly string[] => name.match(number) ?? [];

/** The numbers that a name begins with, which its test claims to show: `H1, H2: …`. */
export function shownBy(name: string): readonly string[] {
  const [head = ""] = /^(?:(?:[HKLM]\d+|HD)(?:, |(?=: )))+(?=: )/.exec(name) ?? [];
  return numbersIn(head);
}

type Letter = "H" | "K" | "L" | "M";
type Share = Readonly<{ shown: number; of: number }>;

/** Names of the tests that passed → how many promises of each letter they show, and of how many. */
export function shownOf(names: readonly string[]): Readonly<Record<Letter, Share>> {
  const shown = new Set(names.flatMap(shownBy));
  const share = (letter: Letter): Share => {
    const all = Object.keys(promises).filter((key) => key.startsWith(letter));
    return { shown: all.filter((key) => shown.has(key)).length, of: all.length };
  };
  return { H: share("H"), K: share("K"), L: share("L"), M: share("M") };
}

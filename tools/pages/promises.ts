/**
 * The product's promises, by number. If a test shows a promise, the test's name begins with the
 * promise's number. Pure: test runners import it.
 */

/** Number → promise. */
export const promises: Readonly<Record<string, string>> = {
  H1: "An administrator of the cluster can add a credential without help. The right to write that one Secret is enough.",
  H2: "You declare the credential as Secret `kube-system/additional-pull-secret`, type `kubernetes.io/dockerconfigjson`, key `.dockerconfigjson`, with an `auth` for each registry under `auths`.",
  H3: "The controller merges it with the cluster's original pull secret, and delivers a rotation of either Secret.",
  H4: "Every node gets the result, including cordoned, tainted, joining and returning nodes.",
  H5: "The Secret is enough: no other action is needed.",
  H6: "The controller notices the Secret's creation and each change at once. Its watches resume after a lost connection.",
  H7: "The controller validates the Secret before it deploys anything. A refused Secret changes nothing.",
  H8: "The original may be on another API server, such as that of a hosted control plane.",
  H9: "If both Secrets name a registry, the additional Secret wins, unless the policy prefers the original.",
  H10: "The result is Secret `kube-system/global-pull-secret`.",
  H11: "The agents' ServiceAccount, Role and RoleBinding have the name `global-pull-secret-syncer`.",
  H12: "DaemonSet `kube-system/global-pull-secret-syncer` runs an agent on each node.",
  H13: "The DaemonSet's pods carry the label `name=global-pull-secret-syncer`.",
  H14: "`kubectl get` of the DaemonSet, of the Secret and of the pods by label shows that it works.",
  H15: "Each agent watches `global-pull-secret`, and applies only the revision that is meant for its node.",
  H16: "On a change the agent rewrites the kubelet's `config.json`, and keeps the entries of other programs.",
  H17: "The agent restarts the kubelet over D-Bus to apply the change. The budget limits how many nodes restart at once.",
  H18: "If the kubelet fails three restarts, the agent restores the old file.",
  H19: "The agent writes and restarts only if the content really changed.",
  H20: "After you delete the Secret, the agents remove the entries from every node. Then the controller deletes the DaemonSet, the ServiceAccount, the Role and the RoleBinding.",
  H21: "The controller also deletes `global-pull-secret` and everything else that the product created for itself.",
  H22: "The product touches only kube-system, and there only the named Secrets.",
  H23: "The controller and the agents have only the rights that they need.",
  H24: "The product reports an invalid document early, with the problem and its path, and never with a credential.",
  H25: "Controller, agent and command line are separate programs. Their packages import each other in one direction only.",
  HD: "The steps happen in the order of the drawing: the Secret, the controller, `global-pull-secret`, ServiceAccount, Role, RoleBinding, DaemonSet, the agent, the file, D-Bus, the kubelet.",
  K1: "The fleet's controller delivers one Secret of the management cluster, `kube-system/source-pull-secret`, to many clusters.",
  K2: "One declarative object names that Secret.",
  K3: "Labels of namespaces, and of Clusters, select the clusters. No other cluster is touched.",
  K4: "If Cluster API delivers, each namespace gets Secret `crs-pull-secret`, type `addons.cluster.x-k8s.io/resource-set`, and a ClusterResourceSet with the same name.",
  K5: "That ClusterResourceSet has strategy Reconcile. It selects the Cluster whose label `cluster.x-k8s.io/cluster-name` equals the name of its namespace.",
  K6: "Each cluster gets `kube-system/pull-secret` with identical content and type.",
  K7: "The delivery is limited to Secrets, of every type except the types that give access to one cluster. For other resources the page names Flux, Argo CD and Sveltos.",
  K8: "You can create the object before the Secret, so a deployment tool never reads the value.",
  K9: "A change of the Secret reaches every cluster automatically. A cluster that is declared later gets the Secret automatically, too.",
  K11: "The fleet works in an air-gapped cluster that pulls all images from a private registry.",
  K12: "A cluster may have another name than its namespace, and a namespace may hold several clusters. You choose the selectors.",
  L1: "Only content of a SyncSecret leaves the tenant's cluster.",
  L2: "A tenant is confined to its own namespace of the management cluster.",
  L3: "Finalizers guarantee that the copy and its Secret are deleted with a SyncSecret, even if a program is killed meanwhile.",
  L4: "Objects in the management cluster have UIDs as names, so names never collide and a tenant cannot choose them.",
  L5: "The tenant's side copies each SyncSecret to the tenant's namespace of the management cluster.",
  L6: "The labels origin-name and origin-namespace of a copy show where it comes from. No other metadata is copied.",
  L7: "After you delete a SyncSecret, its copy is deleted.",
  L8: "The management side creates a Secret with the same data.",
  L9: "The copy of the SyncSecret owns that Secret.",
  L10: "A change of the SyncSecret reaches the Secret.",
  L11: "The Secret is deleted with its SyncSecret.",
  L12: "A SyncSecret has a Secret's own fields: data, stringData, type and immutable.",
  L13: "Types Opaque, tls, dockerconfigjson, basic-auth, ssh-auth and service-account-token all work. The last one arrives as Opaque.",
  L14: "An immutable SyncSecret cannot be changed in either cluster. The type of a SyncSecret can never be changed.",
  L15: "A copied dockerconfigjson works as a pull secret.",
  L16: "If another client edits a derived Secret, the management side repairs it.",
  L17: "Every derived Secret has an owner, and you can find a Secret that lost its owner.",
  L18: "The tenant's side deletes the copy, waits until it is gone, and only then removes the finalizer of the tenant's object.",
  L19: "A copy in the management cluster disappears only after its Secret is deleted.",
  L20: "You never have to remove a finalizer by hand. A deletion that cannot finish ends at its deadline, and the tenant's side deletes the remaining copy later.",
  L21: "The management side has rights on SyncSecrets and Secrets in tenants' namespaces, and on no other Secret.",
  L22: "The tenant's side has no right on any Secret of the management cluster. In its own cluster it has a right only on the Secret of its kubeconfig.",
  L23: "A copy is always in the tenant's namespace of the management cluster, whatever its original namespace, and has its own UID.",
  L24: "The programs create a missing object, and update an existing object.",
  L25: "After a conflict the programs read the object again and retry.",
  L26: "The programs send no request for unchanged content.",
  L27: "Both sides count and time their reconciles by namespace.",
  L28: "Both sides log creations, updates, cleanups and errors.",
  L29: "Each log line is one JSON object with the namespace that it is about.",
  L30: "Metrics are at `:8080/metrics`.",
  L31: "The page's recipes find out why an object does not appear, why its Secret is not created or updated, and which Secrets are orphans.",
  L32: "Only users with a granted right can read or create SyncSecrets. The page lists good practices.",
  L33: "A walk-through leads from the tenant's Secret to an Ingress that uses it.",
  M1: "One command on the host joins a cluster.",
  M2: "The host shows for each joined cluster whether it is joined and healthy.",
  M3: "The commands use your own contexts, under any name.",
  M4: "One command applies manifests once, to all clusters or to named clusters. For continuous delivery the page names Flux, Argo CD and Sveltos.",
  M5: "The command of M4 delivers a Deployment with a private image and its pull secret to every cluster.",
  M6: "The command of M4 also delivers every other kind, such as roles, CRDs and custom resources.",
  M7: "One command installs the encryption controller in every cluster, in a namespace that you choose.",
  M8: "A command seals a Secret of any type with a cluster's public certificate.",
  M9: "A sealed file is safe in version control.",
  M10: "One sealed file opens in every cluster that has the same key pair.",
  M11: "Nodes can use the sealed Secret as a pull secret.",
  M13: "You manage all of it from one place, and remove it from there.",
};

type Prose = Readonly<{ sentence: string; page: string }>;

/** Number → a promise that no test can show, and the page that states it. */
export const prose: Readonly<Record<string, Prose>> = {
  K10: {
    sentence: "Besides Cluster API, no add-on is needed: one object and one controller are enough.",
    page: "extend/fleet.md#few-pieces-and-air-gapped",
  },
  K13: {
    sentence: "The page answers objections to storing a credential on the nodes.",
    page: "extend/fleet.md#few-pieces-and-air-gapped",
  },
  M12: {
    sentence: "The page lists which problems of secrets are solved, and which are not.",
    page: "extend/clusters.md#which-problems-are-solved",
  },
};

const number = /\b(?:[HKLM]\d+|HD)\b/g;

/** All numbers in a name, at any position. */
export const numbersIn = (name: string): readonly string[] => name.match(number) ?? [];

/** The numbers at the beginning of a name, whose promises the test shows: `H1, H2: …`. */
export function shownBy(name: string): readonly string[] {
  const [head = ""] = /^(?:(?:[HKLM]\d+|HD)(?:, |(?=: )))+(?=: )/.exec(name) ?? [];
  return numbersIn(head);
}

type Letter = "H" | "K" | "L" | "M";
type Share = Readonly<{ shown: number; of: number }>;

/** For each letter: the number of promises, and how many of them these passed tests show. */
export function shownOf(names: readonly string[]): Readonly<Record<Letter, Share>> {
  const shown = new Set(names.flatMap(shownBy));
  const share = (letter: Letter): Share => {
    const all = Object.keys(promises).filter((key) => key.startsWith(letter));
    return { shown: all.filter((key) => shown.has(key)).length, of: all.length };
  };
  return { H: share("H"), K: share("K"), L: share("L"), M: share("M") };
}

/**
 * The demos' lines, and their order in each demo. The narrator refuses another order. A unit test
 * checks that README.md shows these lines. The run replaces each `{name}` by a value.
 */
const step = (text: string) => ({ kind: "step", text }) as const;
const claim = (text: string) => ({ kind: "claim", text }) as const;

export const lines = {
  files: step("Without a cluster: refuse a bad file, merge two files, explain an image"),
  keyPath: claim("the refusal names the key path, and no credential"),
  explained: claim("the kubelet tries the more specific entry first"),
  nodes: step("Start two nodes, each with its own systemd, kubelet, containerd and runc"),
  scripted: step(
    "Start a scripted API server, and two nodes: a directory and a scripted systemd each",
  ),
  controller: step("Start the controller"),
  install: step(
    "Install the controller: kubectl apply -k manifests, with --delivery-modes=Restart,CredentialProvider",
  ),
  nothingYet: claim("nothing is deployed on any node yet"),
  pods: step("A pod with a private image, on each node"),
  refused: claim("{image} cannot be pulled: both pods are in ImagePullBackOff"),
  created: step("The administrator creates kube-system/additional-pull-secret"),
  running: claim("both pods run, {seconds} s after the Secret was created"),
  delivered: claim("both nodes have the credential, {seconds} s after the Secret was created"),
  oneByOne: claim("the second kubelet was restarted after the first one had proved healthy"),
  seen: step("What an administrator sees"),
  neighbour: claim("the entry of another program is still in node1's file"),
  changed: step("The registry's password is rotated, and the Secret with it"),
  sameAgents: claim(
    "every node has the new password {seconds} s after the Secret was written, and no agent pod was replaced",
  ),
  wrongPassword: step("A wrong password is refused, with spec.verification.mode Refuse"),
  denied: claim("the registry denies it, and no node has it"),
  badEdit: step("A bad edit is refused"),
  lastGood: claim("the last good credentials stay in force"),
  joins: step("A third node joins"),
  joined: claim("a pod with a private image runs there, {seconds} s after the node was started"),
  joinedToo: claim("it has the credential, {seconds} s after it joined"),
  broken: step("An edit that keeps every kubelet from starting"),
  rolledBack: claim(
    "after three failed starts {node} has its previous file again, and its kubelet runs",
  ),
  halted: claim("the rollout has halted, and no other kubelet was restarted"),
  healed: claim("a corrected Secret is in force on every node, {seconds} s after it was written"),
  deleted: step("The administrator deletes the Secret"),
  gone: claim("DaemonSet, RoleBinding, Role, ServiceAccount and Secret are gone after {seconds} s"),
  sameBytes: claim("node1's file has exactly the bytes that it had before"),
  noFile: claim("node2 and node3 have no file, as before"),
  noTrace: claim("nothing of ours is left on any node"),
  prepared: step("Prepare nodes as Cluster API or cloud-init does: a script and two kubelet flags"),
  rotated: step("The registry's password is rotated again, and the Secret with it"),
  nextPull: claim(
    "the next pull of every node has the new password, {seconds} s after the Secret was written",
  ),
  sameKubelets: claim("no kubelet was restarted"),
  clusters: step(
    "Start a management cluster, and two clusters with the product and one node each: staging and production",
  ),
  fleetSecret: step(
    "The administrator creates one Secret and one FleetSecret; staging comes first",
  ),
  bothClusters: claim(
    "the nodes of both clusters have the credential, {seconds} s after the FleetSecret was created",
  ),
  stagingFirst: claim("production got it only after staging's node had proved it"),
  fleetRotated: step("The registry's password is rotated, and the one Secret with it"),
  bothRotated: claim(
    "the nodes of both clusters have the new password, {seconds} s after the Secret was written",
  ),
  fleetDeleted: step("The administrator deletes the FleetSecret"),
  noCopy: claim("no cluster has the Secret, and no node has the credential, after {seconds} s"),
};

type Key = keyof typeof lines;

const ofFleet = [
  ...(["clusters", "fleetSecret", "bothClusters", "stagingFirst"] as const),
  ...(["fleetRotated", "bothRotated", "fleetDeleted", "noCopy"] as const),
] as const satisfies readonly Key[];

/** Lines that only one of the demos of one cluster shows. Both show the others. */
const only: Readonly<Record<"scripted" | "cluster", ReadonlySet<Key>>> = {
  scripted: new Set(["scripted", "controller", "delivered", "oneByOne", "joinedToo"]),
  cluster: new Set([
    ...([
      "nodes",
      "install",
      "pods",
      "refused",
      "running",
      "seen",
      "wrongPassword",
      "denied",
    ] as const),
    ...(["joined", "prepared", "rotated", "nextPull", "sameKubelets"] as const),
  ]),
};

const without = (others: ReadonlySet<Key>): readonly Key[] =>
  (Object.keys(lines) as Key[]).filter((key) => !new Set<Key>([...others, ...ofFleet]).has(key));

/** The keys of each demo's lines, in their order. */
export const scripts = {
  scripted: without(only.cluster),
  cluster: without(only.scripted),
  fleet: ofFleet,
};

type Kind = "step" | "claim";

export type KeyOf<Wanted extends Kind> = {
  [One in Key]: (typeof lines)[One]["kind"] extends Wanted ? One : never;
}[Key];

/** Matches the transcript in README.md, with the marks of its beginning and its end. */
export const transcript = /(<!-- demo -->\n+```text\n)(.*?)(```)/s;

/** What a program does by itself, and what a person can do, where the catalogues say less. */

const lastGood = "The last accepted entries of this source stay in force.";

/** Kind of code → the action that the page states once, for all codes of this kind. */
export const general = {
  refused: `The whole source is refused. ${lastGood}`,
  warning: "The source is used.",
  agent: "The agent changes nothing on this node and checks again.",
  controller:
    "Nodes keep what they have. The last accepted entries of each source, and the last accepted policy, stay in force. What fails is tried again in growing pauses. No other node waits for a node with GPS334 to GPS337.",
  kubeconfig: "The kubeconfig is not used, and no connection is made.",
  fleet:
    "Clusters keep what they have. What fails is tried again in growing pauses. Other clusters wait two minutes at most for a cluster with GPS451, and during a halt (GPS441).",
  tenant:
    "The existing copy stays. The program checks the object again when it changes, and tries again in growing pauses.",
} as const;

const refusal =
  "The controller counts this as a refusal of the content. [Enough refusals](../extend/fleet.md) halt the rollout.";

/** Code → what the program does without a person. */
export const byItself: Readonly<Record<string, string>> = {
  GPS128: "The program rejects the flag or the policy. The previous policy stays in force.",
  GPS174:
    "The check accepts the file. If you apply it, the controller treats the Secret like a deleted one.",
  GPS176: "The plugin makes the change. The controller compares it with the original later.",
  GPS178: "The controller uses the source and warns. The plugin's check refuses it.",
  GPS218: "The agent reports Failed, and does not try the revision again for the same order.",
  GPS223:
    "The agent removes the journal and all kept copies of `config.json`. Entries with a credential that we ever published count as ours. The entries that ours replaced are in `global-pull-secret/theirs-…`, unless this file is damaged, too.",
  GPS269:
    "The agent keeps the bytes as `global-pull-secret/unreadable-…` beside the file: the last three, until a credential in them leaves. Bytes with a credential that leaves at once are not kept. It writes the last readable entries of all programs back.",
  GPS270:
    "The journal was lost, or another program restored an old copy of the file. Credentials that we ever published count as ours. They leave with the next change, or at once if the newest content lacks their registry.",
  GPS304: "Nothing is deployed. The controller does not touch that object, and checks again.",
  GPS305:
    "The controller asks no further node, and new nodes get the revision that was served before. The halt ends with newer content, with a retry, or when enough silent nodes answer. Removals continue.",
  GPS306: "The controller keeps waiting.",
  GPS307:
    "The controller has deleted its other objects. Status names the node until the Node or its NodePullSecret is deleted.",
  GPS308: "The controller publishes nothing new. The content in force stays.",
  GPS310:
    "If the source was in force, its entries stay for the grace period and are then removed (with `onDelete: Keep`, they stay).",
  GPS311: "The controller notices a new right within a minute and a half.",
  GPS313: "The source is left out.",
  GPS314: "Both sources are used.",
  GPS320: "The pods are created as soon as this is allowed.",
  GPS322: "The controller accepts the changes and works with them.",
  GPS324: "Nodes remove the entries when they return. The controller waits until then.",
  GPS327: "The rollout continues when another node can be served.",
  GPS328: "The node keeps its former content until a retry, or newer content.",
  GPS334: "The controller asks the node as soon as its kubelet answers again.",
  GPS335:
    "Its place is given to another node. Its answer counts whenever it comes. Too many silent nodes halt the rollout (GPS305).",
  GPS336: "The kubelet keeps trying to start the agent.",
  GPS337: "The pod is created as soon as this is allowed.",
  GPS338: "The controller asks no node for a change. Removals continue.",
  GPS339:
    "Six contents are published at once, then one every ten minutes. Content that removes a registry does not wait.",
  GPS340: "They stay in force for the grace period and are then removed.",
  GPS433: "Nothing is placed in a cluster.",
  GPS436: "The cluster is served as soon as its kubeconfig exists.",
  GPS439: "The write is tried again after 5 s, then in pauses that grow to 90 s.",
  GPS440: "The difference is reported.",
  GPS441: "The rollout halts. Clusters keep what they have.",
  GPS442: "The clusters that are already served stay served.",
  GPS448: "The cluster is served as soon as its credential exists.",
  GPS453: refusal,
  GPS454: "The cluster is Done as soon as a GlobalPullSecret lists the Secret and nodes prove it.",
  GPS456: "The next cluster is served. This cluster is Done as soon as it proves the Secret.",
  GPS458: "Cluster API applies the Secret.",
  GPS460: "The cluster is read again in pauses that grow to 30 s.",
  GPS461: "The Secret is written once a minute.",
  GPS473: "The write is repeated.",
  GPS474: "The program repeats the write once a minute.",
  GPS475: refusal,
  GPS476: "The controller does not write to the cluster.",
  GPS477: "The renewal is tried again each minute. Existing copies stay.",
  GPS480: "The token is renewed once an hour. Existing copies stay.",
  GPS481: "The copies there stay. Ready is Unknown until the token is accepted.",
  GPS482: "The object is not served. The others are.",
  GPS483: "The first 10,000 objects are served.",
  GPS484: "The watch pauses, for up to 90 s.",
  GPS485: "The copy keeps its content. The Secret is read again within a minute.",
};

/** Code → what a person can also do. */
export const alternatives: Readonly<Record<string, string>> = {
  GPS218: "Read `journalctl -u kubelet` first, and run `kubectl pull-secret retry` afterwards.",
  GPS221:
    "An agent's flag needs [its annotation](../use/install.md#what-the-controllers-account-may-do).",
  GPS223: "Add entries that ours had replaced, if they are needed after a withdrawal.",
  GPS261:
    "The message shows where the kubelet has its pods. Agents remove entries only below this directory, and [a withdrawal](../use/configure.md#withdraw) waits for this node. Replace a link that the message names by a bind mount. If the node never had our credentials, leave it out with `--agent-node-selector`.",
  GPS265:
    "Check the node's name in the token: `kubectl describe validatingadmissionpolicy global-pull-secret-nodes`.",
  GPS306:
    "To end the removal without these nodes, run `kubectl annotate secret global-pull-secret -n kube-system --overwrite globalpullsecret.io/released=REVISION`, with the number of the removal from the message.",
  GPS324: "[GPS306](#gps306) shows how to end the removal without these nodes.",
};

/**
 * Code → its meaning on the page, for the codes whose text in the catalogue is only `{}`. In their
 * messages, the details replace `{}`, such as the names of nodes.
 */
export const meanings: Readonly<Record<string, string>> = {
  GPS305:
    "The rollout is halted. The revision failed on more nodes than `spec.rollout.maxFailures` allows, or too many nodes did not answer: the second node while none has proved the revision, later more than two and a tenth of the nodes that have.",
  GPS306: "The removal has made no progress for some time.",
  GPS320: "Some nodes have no agent, because its pod cannot be created.",
  GPS321:
    "The API server refuses a request of the controller. A right is missing, or an admission policy or a webhook refuses it. If the refusal names labels or annotations, [your admission changes them](../use/install.md#labels-and-annotations). A 422 for a Secret can mean that someone made the Secret immutable. Delete the Secret then. The controller creates it again.",
  GPS322: "Admission in the cluster changes the controller's objects.",
  GPS324: "The removal waits for nodes that are away and might still have the entries.",
  GPS325: "The API server does not answer the controller.",
  GPS326: "Another client keeps reverting the controller's writes.",
  GPS327: "The rollout waits, because no other node can be served.",
  GPS328: "The revision failed on some nodes, and the rollout continues on the others.",
  GPS330: "The spec of GlobalPullSecret `cluster` exceeds a limit that the installer set.",
  GPS339:
    "A source's Secret changes so often that newer content is published only once in ten minutes. The message names the Secrets, and the programs that wrote them within the last ten minutes.",
  GPS432: "The source Secret is not a valid pull secret.",
  GPS438: "The cluster cannot be reached.",
  GPS439: "The cluster's API server refuses a write of the target.",
  GPS443: "The controller cannot read the source Secret or the list of clusters.",
};

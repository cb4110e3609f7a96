/**
 * Code → its meaning on the page, for the codes whose text in the catalogue is only `{}`. In their
 * messages, the details replace `{}`, such as the names of nodes.
 */
export const meanings: Readonly<Record<string, string>> = {
  GPS305:
    "The rollout has halted: the revision failed on more nodes than `spec.rollout.maxFailures` allows.",
  GPS306: "The removal has made no progress for some time.",
  GPS307:
    "The removal is complete, but some nodes could not be reached and might still have the entries.",
  GPS320: "Some nodes have no agent, because its pod cannot be created.",
  GPS321:
    "The API server refuses a request of the controller. If the refusal names labels or annotations, [your admission changes them](../use/install.md#labels-and-annotations).",
  GPS322: "Admission in the cluster changes the controller's objects.",
  GPS324: "The removal waits for nodes that are away and might still have the entries.",
  GPS325: "The API server does not answer the controller.",
  GPS326: "Another client keeps reverting the controller's writes.",
  GPS327: "The rollout cannot begin, because no node can be served.",
  GPS328: "The revision failed on some nodes, but it is in force on the others.",
  GPS329:
    "The API server refuses to delete older pods of agents, so these agents are not upgraded.",
  GPS330: "The spec of GlobalPullSecret `cluster` exceeds a limit that the installer set.",
  GPS432: "The source Secret is not a valid pull secret.",
  GPS438: "The cluster cannot be reached.",
  GPS439: "The cluster's API server refuses a write of the target.",
  GPS443: "The controller cannot read the source Secret or the list of clusters.",
};

/**
 * Code → its meaning on the page, for the codes whose text in the catalogue is only `{}`. In their
 * messages, the details replace `{}`, such as the names of nodes.
 */
export const meanings: Readonly<Record<string, string>> = {
  GPS305:
    "The rollout has halted: the revision failed on more nodes than `spec.rollout.maxFailures` allows. The message lists failed nodes with the reason of each.",
  GPS306:
    "The removal has made no progress for some time. The message names what the removal waits for: nodes, or the DaemonSet controller.",
  GPS307:
    "The removal is complete, but some nodes could not be reached and might still have the entries. The message names them.",
  GPS320:
    "Some nodes have no agent, because its pod cannot be created. The message counts these nodes.",
  GPS321:
    "The API server refuses a request of the controller. The message quotes the refusal. If the refusal names labels or annotations, [your admission changes them](../use/install.md#labels-and-annotations).",
  GPS322:
    "Admission in the cluster changes the controller's objects. The message names the changed fields.",
  GPS324:
    "The removal waits for nodes that are away and might still have the entries. The message names them, and the time at which the wait ends.",
  GPS325: "The API server does not answer the controller. The message quotes the last error.",
  GPS326:
    "Another client keeps reverting the controller's writes. The message names the client, if known, and the objects.",
  GPS327:
    "The rollout cannot begin, because no node can be served. The message has the reason of each node.",
  GPS328:
    "The revision failed on some nodes, but it is in force on the others. The message lists failed nodes with the reason of each.",
  GPS329:
    "The API server refuses to delete older pods of agents, so these agents are not upgraded. The message names their nodes.",
  GPS330:
    "The spec of GlobalPullSecret `cluster` exceeds a limit that the installer set. The message names the fields.",
  GPS432: "The source Secret is not a valid pull secret. The message names the problem.",
  GPS438: "The cluster cannot be reached. The message quotes the last error.",
  GPS439: "The cluster's API server refuses a write of the target. The message quotes the refusal.",
  GPS443:
    "The controller cannot read the source Secret or the list of clusters. The message quotes the error.",
};

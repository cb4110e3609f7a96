/** The flags of the first container, which the controller sets as it sets the agent's. */
import { mountPaths } from "#contract/names.ts";
import { directory } from "#contract/values.ts";

export const flags = {
  root: { read: directory, standard: mountPaths.root, what: "where the node's root is mounted" },
  "kubelet-directory": {
    read: directory,
    standard: "/var/lib/kubelet",
    what: "the kubelet's root directory on the node",
  },
  "pod-directory": {
    read: directory,
    standard: mountPaths.pod,
    what: "the pod's own directory, which the agent reads next",
  },
};

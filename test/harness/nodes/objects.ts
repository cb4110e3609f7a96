/** Nodes, pods and reports of the model as the API returns them. */
import { createHash } from "node:crypto";
import type { V1DaemonSet, V1Pod } from "@kubernetes/client-node";
import { agentContainer } from "#contract/names.ts";
import type { Report } from "#contract/order.ts";
import type { Condition, ModelPod } from "./nodes.ts";

/** The label in which the DaemonSet controller names a pod's template. */
export const hashLabel = "controller-revision-hash";

const at = (seconds: number) => new Date(Math.floor(seconds) * 1000).toISOString();

/** The node controller sets `Unknown` if a kubelet does not report. */
export const nodeCondition = ({ is, since }: Condition): object => ({
  type: "Ready",
  status: is ? "True" : "Unknown",
  reason: is ? "KubeletReady" : "NodeStatusUnknown",
  lastHeartbeatTime: at(since),
  lastTransitionTime: at(since),
});

/** A Linux node that runs pods. */
export function nodeObject(name: string, ready: Condition) {
  const has = { cpu: "16", memory: "64Gi", pods: "250" };
  const labels = { "kubernetes.io/os": "linux", "kubernetes.io/hostname": name };
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, labels },
    status: {
      capacity: has,
      allocatable: has,
      conditions: [nodeCondition(ready)],
    },
  };
}

/** A pod's status, with the kubelet's times to the second. */
export function podStatus({ created, state }: ModelPod): object {
  const { container, containersReady, ready } = state;
  const { startedAt, restarts, waits = "ContainerCreating" } = container;
  const isRunning = startedAt !== undefined;
  const condition = (type: string, { is, since }: Condition) => ({
    type,
    status: is ? "True" : "False",
    lastTransitionTime: at(since),
  });
  const done = { is: true, since: created };
  return {
    phase: isRunning || restarts > 0 ? "Running" : "Pending",
    startTime: at(created),
    conditions: [
      condition("PodScheduled", done),
      condition("Initialized", done),
      condition("ContainersReady", containersReady),
      condition("Ready", ready),
    ],
    containerStatuses: [
      {
        name: agentContainer,
        image: "x",
        imageID: "x",
        ready: containersReady.is,
        started: isRunning,
        restartCount: restarts,
        state: isRunning
          ? { running: { startedAt: at(startedAt) } }
          : { waiting: { reason: waits } },
      },
    ],
  };
}

/** The status of a NodePullSecret. */
export const statusOf = ({ since, time, ...report }: Report): object => ({
  ...report,
  since: at(since),
  time: at(time),
});

export const hashOf = ({ spec }: V1DaemonSet): string =>
  createHash("sha256").update(JSON.stringify(spec?.template)).digest("hex").slice(0, 10);

/** The pod that the DaemonSet controller makes for a node, already bound to it. */
export function podFor(daemonSet: V1DaemonSet, node: string, suffix: string): V1Pod {
  const { metadata: { name = "", namespace = "", uid = "" } = {}, spec } = daemonSet;
  const { metadata, spec: podSpec } = spec?.template ?? {};
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: `${name}-${suffix}`,
      namespace,
      labels: { ...metadata?.labels, [hashLabel]: hashOf(daemonSet) },
      annotations: { ...metadata?.annotations },
      ownerReferences: [{ apiVersion: "apps/v1", kind: "DaemonSet", name, uid, controller: true }],
    },
    spec: { containers: [], ...podSpec, nodeName: node },
  };
}

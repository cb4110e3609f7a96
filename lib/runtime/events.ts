/**
 * Writes an Event on an object. Nothing depends on Events: a cluster that refuses one (a rate
 * limit, a missing right) loses only that Event.
 */
import { createHash } from "node:crypto";
import type { V1ObjectMeta } from "@kubernetes/client-node";
import type { Cluster } from "#kube/client/cluster.ts";

type Warned = Readonly<{
  /** The program, as the Event's source. */
  component: string;
  apiVersion: string;
  kind: string;
  metadata: V1ObjectMeta;
  reason: string;
  message: string;
}>;

/** The API server refuses longer notes. */
const longestMessage = 1024;

/** Writes an Event of type Warning. The same message about the same object is one Event. */
export async function warnOf(cluster: Cluster, warned: Warned, now = new Date()): Promise<void> {
  const { component, apiVersion, kind, metadata, reason, message } = warned;
  const { name = "", namespace = "default", uid = "" } = metadata;
  const digest = createHash("sha256").update([uid, reason, message].join("\n")).digest("hex");
  const time = now.toISOString().replace(/\.\d+Z$/, "Z");
  const event = {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: `${name.slice(0, 200)}.${digest.slice(0, 16)}`, namespace },
    involvedObject: { apiVersion, kind, name, namespace, uid },
    type: "Warning",
    reason,
    message: message.slice(0, longestMessage),
    source: { component },
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
  };
  await cluster.create(`/api/v1/namespaces/${namespace}/events`, event).catch(() => undefined);
}

/**
 * Events on additional-pull-secret, where the administrator looks (`kubectl get events -n kube-system`). An Event's name is
 * a digest of what it says: said again, by another controller or after a restart, it exists already and is not repeated.
 */
import { createHash } from "node:crypto";
import type { V1ObjectMeta } from "@kubernetes/client-node";
import { additionalSecretName, namespace } from "../pullsecret/names.ts";
import { ApiError } from "./apierror.ts";
import type { Cluster } from "./kube.ts";
import { fieldManager } from "./ownership.ts";
import { collections } from "./paths.ts";

export type Notice = Readonly<{
  type: "Normal" | "Warning";
  /** CamelCase, as Kubernetes' own. */
  reason: string;
  message: string;
  /** Which occasion: the same words about another revision or another edit are another Event. */
  about: string;
}>;

/** The API server refuses longer notes. */
const longestMessage = 1024;

/** What was sent lately need not even be tried again; 500 digests are 50 kB. */
const remembered = 500;

export type Announce = (notice: Notice, secret: V1ObjectMeta | undefined) => Promise<void>;

/** `sent` is told of each Event that was really created. */
export function announcer(cluster: Cluster, sent: (notice: Notice) => void): Announce {
  const known = new Set<string>();
  return async (notice, secret) => {
    const digest = createHash("sha256")
      .update(JSON.stringify([secret?.uid, notice.reason, notice.message, notice.about]))
      .digest("hex")
      .slice(0, 16);
    if (known.has(digest)) return;
    try {
      await cluster.create(collections.events, event(notice, `${additionalSecretName}.${digest}`, secret));
      sent(notice);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 409) throw error;
    }
    known.add(digest);
    if (known.size > remembered) known.delete(known.values().next().value ?? "");
  };
}

function event({ type, reason, message }: Notice, name: string, secret: V1ObjectMeta | undefined) {
  const now = new Date().toISOString();
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name, namespace },
    type,
    reason,
    message: message.length > longestMessage ? `${message.slice(0, longestMessage - 1)}…` : message,
    involvedObject: {
      apiVersion: "v1",
      kind: "Secret",
      namespace,
      name: additionalSecretName,
      ...(secret?.uid === undefined ? {} : { uid: secret.uid, resourceVersion: secret.resourceVersion }),
    },
    source: { component: fieldManager },
    reportingComponent: fieldManager,
    firstTimestamp: now,
    lastTimestamp: now,
    count: 1,
  };
}

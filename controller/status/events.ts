/**
 * Events on additional-pull-secret, where administrators look (`kubectl get events -n
 * kube-system`).
 */
import type { V1ObjectMeta } from "@kubernetes/client-node";
import { additionalSecretName, namespace } from "#contract/names.ts";
import type { About } from "#runtime/events.ts";
import type { Notice } from "./messages.ts";

/** Sends an Event once. Returns at once and never fails. */
export type Announce = (notice: Notice, secret: V1ObjectMeta | undefined) => void;

/** The Secret, even if it does not exist. */
export const onAdditional = (secret: V1ObjectMeta | undefined): About => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { ...secret, namespace, name: additionalSecretName },
});

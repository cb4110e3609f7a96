/** Makes a copy as declared, and confirms by the reply that the API server stored it so. */
import type { KubernetesObject, V1ObjectMeta } from "@kubernetes/client-node";
import { ApiError } from "#kube/client/api-error.ts";
import { newborn, type Cluster } from "#kube/client/cluster.ts";
import {
  copyPatch,
  copyStep,
  liveCopy,
  type Desired,
  type LiveCopy,
  type WriteStep,
} from "./copy.ts";

/** Thrown if admission changes our object at every write. */
export class ChangedByAdmission extends Error {
  /** The metadata that the API server stored. */
  readonly written: V1ObjectMeta;

  constructor(written: V1ObjectMeta = {}) {
    super("admission changes the object");
    this.written = written;
  }
}

export type CopyWrite = Readonly<{
  manager: string;
  /** The collection's path. */
  collection: string;
  live: LiveCopy | undefined;
  desired: Desired;
  /** What we keep of the reply. */
  keep?: (object: KubernetesObject) => LiveCopy;
  propagation?: "Background" | "Foreground";
}>;

/** For an apply that only creates. RBAC can limit an apply, but not a create, to one name. */
const created = ({ body }: Desired): object => ({
  ...body,
  metadata: { ...body.metadata, resourceVersion: newborn },
});

/**
 * Takes the step. Every write creates, or names the version that the caller read: a write whose
 * answer was lost can be repeated, and an object that another client changed meanwhile stays as it
 * is, with a conflict.
 */
export async function place(cluster: Cluster, step: WriteStep, write: CopyWrite): Promise<void> {
  const { manager, collection, live, desired, keep = liveCopy, propagation } = write;
  const path = `${collection}/${desired.body.metadata.name}`;
  const { uid = "", resourceVersion } = live?.metadata ?? {};
  if (step === "recreate") await cluster.remove(path, uid, resourceVersion, propagation);
  const reply =
    live !== undefined && step === "update"
      ? await cluster
          .patch<KubernetesObject>(path, copyPatch(live, desired))
          .catch((error: unknown) => {
            throw isGone(error) ? conflictAt(path) : error;
          })
      : await cluster.apply<KubernetesObject>(path, created(desired), { manager, force: true });
  const written = keep(reply);
  if (copyStep(written, desired, true) !== "nothing")
    throw new ChangedByAdmission(written.metadata);
}

/** Whether another client has deleted the object that we update. */
const isGone = (error: unknown): boolean =>
  error instanceof ApiError && error.status === 404 && !error.isDenial;

const conflictAt = (path: string) =>
  new ApiError({ status: 409, reason: "Deleted", method: "PATCH", path });

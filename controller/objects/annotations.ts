/**
 * What we remember, as annotations on global-pull-secret: it outlives the controller and goes with
 * the product.
 */
import type { V1Secret } from "@kubernetes/client-node";
import { globalSecretName, namespace } from "#contract/names.ts";
import { ApiError } from "#kube/api-error.ts";
import type { Cluster } from "#kube/client.ts";
import { annotationOf, annotations, memoryManager } from "#kube/ownership.ts";
import { owned } from "#kube/paths.ts";

/**
 * One line of the state in words, as in a Kubernetes status. `revision` is the one that it was said
 * of.
 */
export type Condition = Readonly<{
  type: "Accepted" | "OriginalAccepted" | "Deployed" | "RolledOut" | "Removed";
  status: "True" | "False" | "Unknown";
  reason: string;
  message: string;
  revision: number;
  lastTransitionTime: string;
}>;

export type Memory = Readonly<{
  conditions: readonly Condition[];
  /** A revision above 0 may have reached a node. */
  rolled: boolean;
  /** The revision with which every node has given back its entries; 0: none. */
  released: number;
}>;

export function recall(secret: V1Secret | undefined): Memory {
  const said = (name: string) => annotationOf(secret?.metadata, name);
  return {
    conditions: readConditions(said(annotations.conditions)),
    rolled: said(annotations.rolled) === "true",
    released: Number(said(annotations.released) ?? 0) || 0,
  };
}

/** Writes what changed; nothing when nothing did. Returns the Secret as it stands then. */
export async function remember(
  cluster: Cluster,
  secret: V1Secret,
  memory: Memory,
): Promise<V1Secret> {
  const before = secret.metadata?.annotations ?? {};
  const after = {
    ...(memory.conditions.length > 0
      ? { [annotations.conditions]: JSON.stringify(memory.conditions) }
      : {}),
    ...(memory.rolled ? { [annotations.rolled]: "true" } : {}),
    ...(memory.released > 0 ? { [annotations.released]: String(memory.released) } : {}),
  };
  const same = Object.values(annotations).every(
    (name) => before[name] === (after as Record<string, string>)[name],
  );
  if (same) return secret;
  const { uid, resourceVersion } = secret.metadata ?? {};
  if (uid === undefined)
    throw new ApiError({ status: 409, reason: "NoUid", method: "PATCH", path: owned.global });
  // The uid keeps the apply from creating a Secret without data when ours was deleted meanwhile;
  // the version keeps what a controller that stood still remembers from replacing what its
  // successor knows.
  const metadata = { name: globalSecretName, namespace, uid, resourceVersion, annotations: after };
  return cluster.apply<V1Secret>(
    owned.global,
    { apiVersion: "v1", kind: "Secret", metadata },
    { manager: memoryManager, force: true },
  );
}

/**
 * The list with this condition in it. The time stays while status and revision do; of a source,
 * which no revision changes, while the status does.
 */
export function withCondition(
  conditions: readonly Condition[],
  said: Omit<Condition, "lastTransitionTime">,
  now: Date,
): readonly Condition[] {
  const before = conditions.find(({ type }) => type === said.type);
  const unchanged =
    before?.status === said.status && (ofSource(said.type) || before.revision === said.revision);
  const lastTransitionTime = unchanged ? before.lastTransitionTime : now.toISOString();
  const others = conditions.filter(({ type }) => type !== said.type);
  return [...others, { ...said, lastTransitionTime }].toSorted((a, b) =>
    a.type < b.type ? -1 : 1,
  );
}

const ofSource = (type: Condition["type"]) => type === "Accepted" || type === "OriginalAccepted";

function readConditions(text: string | undefined): readonly Condition[] {
  try {
    const value: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(value)
      ? (value as Condition[]).filter((one) => typeof one?.type === "string")
      : [];
  } catch {
    return [];
  }
}

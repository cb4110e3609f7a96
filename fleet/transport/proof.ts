/**
 * Decides by the status of a cluster's own GlobalPullSecret whether the cluster's nodes have the
 * placed Secret. Pure. The cluster's owner can write any text into this status, so we quote only
 * numbers, and single words that consist of letters.
 */
import type { KubernetesObject } from "@kubernetes/client-node";
import type { ConditionType, StalledReason } from "#api/reasons.ts";
import { sentence } from "../rules/problems.ts";
import { fieldsOf, itemsOf } from "#contract/fields.ts";

export type Proof =
  /** The cluster's nodes have the Secret. */
  | Readonly<{ is: "proved" }>
  /** The cluster does not report on its nodes, so it is enough that the Secret is there. */
  | Readonly<{ is: "unasked" }>
  /** The cluster's own controller is still working on the Secret. */
  | Readonly<{ is: "awaited"; why: string }>
  /** The cluster's controller does not use the Secret, for a reason other than its content. */
  | Readonly<{ is: "held"; why: string }>
  /** The cluster's controller or nodes refuse this content. */
  | Readonly<{ is: "refused"; why: string }>;

/**
 * Reasons of the condition Stalled which mean that the cluster's nodes failed with our content. Any
 * other reason is a problem of the cluster, or of another source there.
 */
const contentFailed: ReadonlySet<string> = new Set<StalledReason>(["Halted"]);

const stalls: ConditionType = "Stalled";

/** What the GlobalPullSecret `object` proves about version `version` of the Secret `name`. */
export function proofOf(
  object: KubernetesObject | undefined,
  name: string,
  version: string,
): Proof {
  const spec = fieldsOf(fieldsOf(object)["spec"]);
  const source = itemsOf(spec["sources"]).find(
    (entry) => fieldsOf(entry["secretRef"])["name"] === name,
  );
  if (source === undefined) return { is: "held", why: sentence("notListed", name) };
  const status = fieldsOf(fieldsOf(object)["status"]);
  const state = spec["managementState"];
  if (state === "Withdrawn") return held("Withdrawn");
  if (status["observedGeneration"] !== object?.metadata?.generation) return awaited("SpecUnread");
  const verdict =
    itemsOf(status["sources"]).find((entry) => entry["name"] === source["name"]) ?? {};
  if (reaches(verdict["servedResourceVersion"], version)) return { is: "proved" };
  if (verdict["reason"] === "Forbidden") return held("Forbidden");
  if (!reaches(verdict["resourceVersion"], version))
    return state === "Paused" ? held("Paused") : awaited("SecretUnread");
  if (verdict["accepted"] === "False") return refused(reasonOf(verdict["reason"]));
  if (state === "Paused") return held("Paused");
  const stalled = itemsOf(status["conditions"]).find(
    (condition) => condition["type"] === stalls && condition["status"] === "True",
  );
  const reason = reasonOf(stalled?.["reason"]);
  if (stalled !== undefined) return contentFailed.has(reason) ? refused(reason) : held(reason);
  return awaited(`nodes ${counted(fieldsOf(status["nodes"])["summary"])}`);
}

const awaited = (why: string): Proof => ({ is: "awaited", why: sentence("awaited", why) });
const held = (why: string): Proof => ({ is: "held", why: sentence("held", why) });
const refused = (why: string): Proof => ({ is: "refused", why: sentence("refusedThere", why) });

/** `value` if it is a single word, like a condition's reason. Otherwise `Unknown`. */
export const reasonOf = (value: unknown): string =>
  typeof value === "string" && /^[A-Za-z]{1,64}$/.test(value) ? value : "Unknown";

const counted = (value: unknown): string =>
  typeof value === "string" && /^\d{1,7}\/\d{1,7}$/.test(value) ? value : "not counted yet";

/**
 * True when `version` is `minimum` or a later version. Versions have up to 20 digits, which
 * can be too large for JavaScript's numbers.
 */
function reaches(version: unknown, minimum: string): boolean {
  const isVersion = (text: unknown): text is string =>
    typeof text === "string" && /^\d{1,20}$/.test(text);
  return isVersion(version) && isVersion(minimum) && BigInt(version) >= BigInt(minimum);
}

/** The order of the node, and which contents belong to it. Pure. */
import { belongsTo, keyOf, type Named, type Order } from "#contract/order.ts";
import type { Seen } from "../api/api.ts";
import type { Content, Journal } from "../journal/journal.ts";
import type { Contents } from "../delivery/contents.ts";
import type { Published } from "../delivery/mount.ts";
import type { OrderReading } from "./facts.ts";

/**
 * The order to follow, from the node's object and the content on the node. An order whose content
 * was proved is followed again if the node has lost that content, for example with its disk.
 */
export function orderFor(own: Seen["own"], journal: Journal | undefined): OrderReading {
  if (own === "unknown") return "unknown";
  if (own === "absent" || own.order === undefined) return "none";
  const { order, report } = own;
  const revision = journal?.content.revision ?? 0;
  const isLost = report?.result === "Proved" && revision < order.revision;
  const isAnswered = report?.attempt === order.attempt && !isLost;
  if (isAnswered && revision === 0) return "answered";
  return isAnswered || order.revision < revision ? "none" : order;
}

/** The order to follow; undefined if there is none, or if it is unknown. */
export function activeOrder(order: OrderReading): Order | undefined {
  return typeof order === "string" ? undefined : order;
}

/** The key under which a failure of this content is recorded. Attempt 0: taken without an order. */
export function failureKey({ revision, digest }: Content, reading: OrderReading): string {
  return keyOf({ revision, digest, attempt: activeOrder(reading)?.attempt ?? 0 });
}

/** Whether the key records a failure of this content, in any attempt. */
export function isFailureOf(key: string, { revision, digest }: Named): boolean {
  return key.startsWith(`${revision}/${digest}/`);
}

/**
 * The content that the node may take: the ordered content, or without an order the served content.
 * Undefined if the Secret does not have it, or has it for another mode. Undefined also if the node
 * has answered an order without taking the content.
 */
export function contentFor(reading: OrderReading, contents: Contents): Published | undefined {
  if (contents.kind !== "contents" || !contents.isOurMode) return undefined;
  if (reading === "answered") return undefined;
  const order = activeOrder(reading);
  if (order === undefined) return contents.served;
  return [contents.newest, contents.served].find(
    (content) => content !== undefined && belongsTo(content, order),
  );
}

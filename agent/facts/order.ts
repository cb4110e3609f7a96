/** The order of the node, and which documents and journals belong to it. Pure. */
import { belongsTo, type Order, keyOf } from "#contract/order.ts";
import type { Seen } from "../api/api.ts";
import type { Document } from "../delivery/mount.ts";
import type { Journal } from "../journal/journal.ts";
import type { Facts, OrderReading } from "./facts.ts";

/**
 * The order to follow, from the node's object and the journal. An order whose content was proved is
 * followed again if the node has lost that content, for example with its disk.
 */
export function orderFor(own: Seen["own"], journal: Journal | undefined): OrderReading {
  if (own === "unknown") return "unknown";
  if (own === "absent" || own.order === undefined) return "none";
  const { order, report } = own;
  const revision = journal?.revision ?? 0;
  const isLost = report?.result === "Proved" && revision < order.revision;
  const isAnswered = report?.attempt === order.attempt && !isLost;
  if (isAnswered && journal === undefined) return "answered";
  return isAnswered || order.revision < revision ? "none" : order;
}

/** The order to follow; undefined if there is none, or if it is unknown. */
export function activeOrder(order: OrderReading): Order | undefined {
  return typeof order === "string" ? undefined : order;
}

/** The key of the order to follow. Failures are recorded under it. */
export function orderKey(reading: OrderReading): string | undefined {
  const order = activeOrder(reading);
  return order && keyOf(order);
}

/**
 * The document that the agent is allowed to apply: a release, or the ordered document. Without an
 * order, it is the document that the journal names, or the served document.
 */
export function documentToApply(
  { mounted, order }: Pick<Facts, "mounted" | "order">,
  journal: Journal | undefined,
): Document | undefined {
  if (mounted?.kind !== "document") return undefined;
  if (mounted.intent === "release") return mounted;
  if (activeOrder(order) !== undefined) return belongsTo(mounted, order) ? mounted : undefined;
  const isKept = journal !== undefined && belongsTo(journal, mounted);
  return isKept || mounted.served === true ? mounted : undefined;
}

/**
 * Whether the Secret does not have the ordered content. It was replaced by newer content, or the
 * order arrived before the Secret.
 */
export function isVoid({ mounted, order }: Pick<Facts, "mounted" | "order">): boolean {
  if (activeOrder(order) === undefined || mounted === undefined) return false;
  if (mounted.kind === "other") return true;
  return mounted.kind === "document" && mounted.intent === "apply" && !belongsTo(mounted, order);
}

/**
 * Whether the journal records only that the node takes no content without an order. The agent does
 * not use the file in such a journal, because other programs might have changed the file since.
 */
export function isEmpty(journal: Journal | undefined): boolean {
  return (
    journal !== undefined &&
    journal.phase === "applied" &&
    journal.revision === 0 &&
    journal.content === "" &&
    journal.quarantine === undefined &&
    journal.calls.length === 0 &&
    journal.owned.former === undefined &&
    journal.owned.answer === undefined &&
    journal.owned.entries.length + journal.owned.rest.length === 0
  );
}

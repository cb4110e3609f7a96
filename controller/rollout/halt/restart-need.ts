/** Whether a revision restarts kubelets, so that its wave obeys the budget. Pure. */
import { type RevisionContent, sourceIds } from "#contract/names.ts";
import { answerable } from "#pullsecret/provider/answer.ts";
import { rowsFor } from "#pullsecret/provider/config.ts";
import { restartOf, type DeliveryPolicy } from "#controller/policy/delivery.ts";

/**
 * What every living node has, proved. `registered`: how agents told kubelets of our provider, as
 * long as nothing that restarts a kubelet was published since.
 */
export type Base = RevisionContent & Readonly<{ registered?: string | undefined }>;

/**
 * True unless no kubelet of a node that has `base` needs a restart for `next`. None does where
 * agents register the provider and only its answer changes: the original's entries, and all that
 * ours displace, are in config.json, which a kubelet keeps for five minutes.
 */
export function restartsKubelets(
  delivery: DeliveryPolicy,
  base: Base | undefined,
  next: RevisionContent | undefined,
): boolean {
  const registered = registeredBy(delivery);
  if (registered === undefined) return restartOf(delivery) === "Always";
  if (base === undefined || next === undefined || base.registered !== registered) return true;
  if (next.intent === "hold") return false;
  return base.intent !== next.intent || lastingPart(base) !== lastingPart(next);
}

/**
 * What to remember as registered when `next` is, or becomes, what is published: nothing as soon as
 * a kubelet may be restarted for it, until every node has it. Otherwise a wave that stopped
 * half-way, and a revision that goes back to what was served, would restart all kubelets that it
 * reached at once.
 */
export function registeredAfter(
  delivery: DeliveryPolicy,
  base: Base,
  next: RevisionContent | undefined,
): string | undefined {
  return restartsKubelets(delivery, base, next)
    ? undefined
    : registeredBy(delivery) && base.registered;
}

/**
 * True when agents may have to tell kubelets of our provider for `next`. The first node then shows
 * that a kubelet asks it (agent/restart/provider-wait.ts).
 */
export function registersKubelets(
  delivery: DeliveryPolicy,
  base: Base | undefined,
  next: RevisionContent | undefined,
): boolean {
  const registered = registeredBy(delivery);
  return registered !== undefined && next?.intent === "apply" && base?.registered !== registered;
}

/** How agents tell kubelets of our provider; undefined where they tell them nothing. */
export function registeredBy(delivery: DeliveryPolicy): string | undefined {
  const tells = delivery.mode === "CredentialProvider" && delivery.registration === "Agent";
  return tells ? `Agent, ${delivery.scope}` : undefined;
}

/**
 * All of a content but the credentials that a provider answers. An entry that its answer cannot
 * carry is treated like the original's.
 */
function lastingPart({ document, sources }: RevisionContent): string {
  try {
    const { auths = {}, ...others } = JSON.parse(document) as { auths?: Record<string, unknown> };
    const suppliers = new Map(Object.entries(JSON.parse(sources) as Record<string, unknown>));
    const isOriginal = (registry: string) => suppliers.get(registry) === sourceIds.original;
    const rows = rowsFor(Object.keys(auths).filter((registry) => !isOriginal(registry)));
    const entries = Object.entries(auths).map(([registry, entry]) =>
      isOriginal(registry) || !answerable(registry, entry, rows) ? [registry, entry] : [registry],
    );
    return JSON.stringify([others, rows, entries]);
  } catch {
    return JSON.stringify([document, sources]);
  }
}

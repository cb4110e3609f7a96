/** docs/reference/reasons.md: the meaning of each name in conditions and Events. */
import * as fleet from "#api/fleet-reasons.ts";
import * as reasons from "#api/reasons.ts";
import * as sync from "#api/sync-reasons.ts";
import { troubles } from "#controller/status/messages.ts";
import { table, type Row } from "./markdown.ts";

/** The page has a section for each table of lib/api/reasons.ts. */
export function reasonsPage(): string {
  return `# Conditions and reasons

After this page you can use conditions and Events in scripts and alerts. Names never change their
meaning. Messages do.

## Conditions

Conditions of GlobalPullSecret \`cluster\` ([how to read them](../use/operate.md)).

${named("condition", reasons.conditions, "when it is True")}

## Ready is True

${named("reason", reasons.readyReasons)}

## The controller continues by itself

Reconciling is True, and Ready is False or Unknown.

${named("reason", reasons.reconcilingReasons)}

## You have to act

Stalled is True, and Ready is False.

${named("reason", reasons.stalledReasons)}

## Other conditions

${named("reason", reasons.otherReasons)}

## One source

These are in \`status.sources[].reason\`.

${named("reason", reasons.sourceReasons)}

## Why a node waits

These are in \`status.nodes.waiting[].reason\`, and \`kubectl pull-secret nodes\` shows them. Of several
reasons, the first in this table counts.

${named("reason", reasons.waitReasons)}

## News

Each Event appears once, on \`additional-pull-secret\`, and is about this Secret.

${named("reason", reasons.newsReasons)}

## Lasting failures

Each failure has a [metric](metrics.md#lasting-failures) and an Event: a Warning on
\`additional-pull-secret\`, repeated every half hour ([why](../inside/decisions/lasting-failures.md)).
Its reason is also the condition's reason above, unless another one is in brackets: ${lasting()}.
ObjectMutated changes no condition: admission changes an object that we declare, but nothing that
nodes get.

## FleetSecret

[How to read them](../extend/fleet.md).

${named("condition", fleet.fleetConditions, "when it is True")}

${byCondition([
  ["Ready, Reconciling", fleet.fleetReasons],
  ["Stalled", fleet.fleetStalledReasons],
  ["Warning", fleet.fleetWarningReasons],
])}

## ClusterProfile of a joined cluster

[How to join one](../extend/clusters.md).

${named("condition", fleet.joinedConditions, "when it is True")}

${named("reason", fleet.joinedReasons)}

## SyncSecret

[How to use one](../extend/tenants.md).

${named("condition", sync.syncConditions, "when it is True")}

${byCondition([
  ["Ready, Reconciling", sync.syncReasons],
  ["Stalled", sync.syncStalledReasons],
  ["Warning", sync.syncWarningReasons],
])}
`;
}

/** The Events of lasting failures, with the reason that explains an Event of another name. */
function lasting(): string {
  return Object.values(troubles)
    .filter(({ condition }) => condition !== undefined)
    .map(({ event, reason }) => (event === reason ? event : `${event} (${reason})`))
    .join(", ");
}

type Names = Readonly<Record<string, string>>;

/** One table of the reasons of several conditions. */
function byCondition(tables: readonly (readonly [condition: string, reasons: Names])[]): string {
  const rows = tables.flatMap(([condition, names]) =>
    Object.entries(names).map(([reason, meaning], at): Row => [
      at ? "" : condition,
      reason,
      meaning,
    ]),
  );
  return table(["condition", "reason", "meaning"], rows);
}

function named(what: string, names: Names, means = "meaning"): string {
  return table([what, means], Object.entries(names));
}

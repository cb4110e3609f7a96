/** docs/reference/reasons.md: the meaning of the reasons of conditions and Events. */
import * as fleet from "#api/fleet-reasons.ts";
import * as reasons from "#api/reasons.ts";
import * as sync from "#api/sync-reasons.ts";
import { table } from "./markdown.ts";

/** The page, a section for each table of lib/api/reasons.ts. */
export function reasonsPage(): string {
  return `# Conditions and reasons

Scripts and alerts may compare these names: none is ever changed, or used for anything else. The
messages beside them are for people, and do change.

## Conditions

Of GlobalPullSecret \`cluster\`; [how to read them](../status.md).

${named("condition", reasons.conditions, "when it is True")}

## Ready is True

${named("reason", reasons.readyReasons)}

## The controller goes on by itself

Reconciling is True with these, and Ready False or Unknown.

${named("reason", reasons.reconcilingReasons)}

## A person has to act

Stalled is True with these, and Ready False.

${named("reason", reasons.stalledReasons)}

## Of other conditions only

${named("reason", reasons.otherReasons)}

## Of one source

In \`status.sources[].reason\`.

${named("reason", reasons.sourceReasons)}

## Events that report news

On \`additional-pull-secret\`, each once.

${named("reason", reasons.newsReasons)}

## Events that last

Warnings on \`additional-pull-secret\`, repeated every half hour; [the conditions and the metric that
go with them](../metrics.md).

${named("reason", reasons.troubleReasons)}

## FleetSecret

[How to read them](../fleet.md).

${named("condition", fleet.fleetConditions, "when it is True")}

Reasons of Ready and Reconciling:

${named("reason", fleet.fleetReasons)}

Stalled is True with these, and Ready False:

${named("reason", fleet.fleetStalledReasons)}

Of Warning:

${named("reason", fleet.fleetWarningReasons)}

## ClusterProfile of a joined cluster

[How to join one](../clusters.md).

${named("condition", fleet.joinedConditions, "when it is True")}

${named("reason", fleet.joinedReasons)}

## SyncSecret

[How to use one](../syncsecret.md).

${named("condition", sync.syncConditions, "when it is True")}

Reasons of Ready, or of what goes on by itself:

${named("reason", sync.syncReasons)}

Stalled is True with these, and Ready False:

${named("reason", sync.syncStalledReasons)}

Warning has these; it changes no other condition:

${named("reason", sync.syncWarningReasons)}
`;
}

function named(what: string, names: Readonly<Record<string, string>>, means = "meaning"): string {
  return table([what, means], Object.entries(names));
}

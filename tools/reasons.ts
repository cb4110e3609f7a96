/** docs/reference/reasons.md: what the names mean that conditions and Events have. */
import * as reasons from "#api/reasons.ts";
import { table } from "./markdown.ts";

/** The page, a section for each table of api/reasons.ts. */
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

## Events that tell news

On \`additional-pull-secret\`, each once.

${named("reason", reasons.newsReasons)}

## Events that last

Warnings on \`additional-pull-secret\`, repeated every half hour; [the conditions and the metric that
go with them](../metrics.md).

${named("reason", reasons.troubleReasons)}
`;
}

function named(what: string, names: Readonly<Record<string, string>>, means = "meaning"): string {
  return table([what, means], Object.entries(names));
}

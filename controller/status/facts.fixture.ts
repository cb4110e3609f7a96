/** Facts for the tests of the status: revision 7 is on all three nodes. */
import { progressWith } from "../rollout/progress.fixture.ts";
import type { SourceFacts } from "./sources.ts";
import type { StatusFacts } from "./summary.ts";

export const now = new Date("2026-01-01T00:00:00Z");
export const rollout = (
  changes: Parameters<typeof progressWith>[0] = {},
): StatusFacts["stage"] => ({
  kind: "rollout",
  progress: progressWith(changes),
});
export const source = (changes: Partial<SourceFacts> = {}): SourceFacts => ({
  name: "additional-pull-secret",
  resourceVersion: "12",
  accepted: "True",
  reason: "Accepted",
  message: "in order",
  extra: false,
  ...changes,
});
export const factsWith = (changes: Partial<StatusFacts> = {}): StatusFacts => ({
  generation: 3,
  managementState: "Managed",
  specWaits: false,
  stage: rollout(),
  troubles: [],
  withdraws: undefined,
  sources: [source()],
  registries: [],
  served: {},
  ...changes,
});
export const trouble = (kind: StatusFacts["troubles"][number]["kind"]) => ({
  troubles: [{ kind, message: `GPS3xx ${kind}` }],
});

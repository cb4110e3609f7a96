/** Gathers a run's facts, and has the status written that they make. */
import type { GlobalPullSecret } from "#api/global-pull-secret.ts";
import type { Policy } from "../policy/policy.ts";
import type { InForce } from "#controller/policy/policy-in-force.ts";
import type { StatusFacts, SourceFacts, Stage } from "./facts.ts";
import { after, nothingKnown, type ServedVersions, type Versions } from "./served-versions.ts";
import { isPublishedOut } from "./summary.ts";
import { statusOf } from "./status.ts";
import type { StatusWriter } from "./status-writer.ts";

/** The part of a run's steering that its status tells. */
export type Steered = Pick<InForce, "waits" | "wishes" | "problems"> &
  Readonly<{
    policy: Pick<Policy, "managementState">;
    object: GlobalPullSecret | undefined;
  }>;

/** The part of a run's verdict that its status tells. */
export type JudgedSources = Pick<StatusFacts, "sources" | "registries" | "withdrawsAt">;

const nothingJudged: JudgedSources = { sources: [], registries: [], withdrawsAt: undefined };

export function statusReporter(writer: StatusWriter, now: () => Date) {
  let steered: Steered | undefined;
  let stage: Stage = { kind: "starting" };
  let judged = nothingJudged;
  let known: ServedVersions = nothingKnown;
  let uid: string | undefined;

  function report(troubles: StatusFacts["troubles"]): void {
    const { object, policy, wishes, waits } = steered ?? {};
    if (object === undefined || policy === undefined) return;
    if (stage.kind === "rollout") {
      const { revision, view } = stage.progress;
      const waiting = view?.pending !== "no";
      const versions = versionsOf(judged.sources);
      const out = isPublishedOut(stage.progress);
      known = after(known, { revision, same: !waiting, out, versions });
    }
    const facts: StatusFacts = {
      generation: object.metadata.generation ?? 0,
      managementState: policy.managementState,
      reason: wishes?.reason ?? "",
      specWaits: waits === true,
      stage,
      troubles,
      ...judged,
      served: known.served,
    };
    writer.write(object, statusOf(facts, writer.before(object), now()));
  }

  return {
    /** What was served is in the status itself: another controller may have written it. */
    begins(next: Steered): void {
      steered = next;
      const { object } = next;
      if (object === undefined || object.metadata.uid === uid) return;
      uid = object.metadata.uid;
      known = { ...known, served: { ...servedIn(object), ...known.served } };
      if ((object.status?.conditions ?? []).length === 0) report([]);
    },
    judged(found: JudgedSources): void {
      judged = found;
    },
    reached(found: Stage): void {
      stage = found;
      if (found.kind === "nothing") [judged, known] = [nothingJudged, nothingKnown];
      if (found.kind === "removal") judged = nothingJudged;
    },
    /** The run has ended, with these troubles lasting. */
    report,
  };
}

function servedIn({ status }: GlobalPullSecret): Versions {
  return Object.fromEntries(
    (status?.sources ?? []).flatMap(({ name, servedResourceVersion: version }) =>
      version === undefined ? [] : [[name, version] as const],
    ),
  );
}

/**
 * Versions of the accepted sources, and none for an extra that is missing. A source that is refused
 * or cannot be read keeps its previous version.
 */
function versionsOf(sources: readonly SourceFacts[]): Versions {
  return Object.fromEntries(
    sources.flatMap(({ name, accepted, reason, extra, resourceVersion }) =>
      accepted === "True" || (extra && reason === "Missing")
        ? [[name, resourceVersion] as const]
        : [],
    ),
  );
}

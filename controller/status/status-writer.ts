/** Collects the facts of a run for GlobalPullSecret's status. */
import type { GlobalPullSecret, GlobalPullSecretStatus } from "#api/global-pull-secret.ts";
import type { StatusWriter as AnyStatusWriter } from "#runtime/status.ts";
import type { Policy } from "../policy/policy.ts";
import type { InForce } from "#controller/policy/policy-in-force.ts";
import { type StatusFacts, type Stage, isPublishedOut } from "./summary.ts";
import {
  type SourceFacts,
  servedAfter,
  nothingKnown,
  type ServedVersions,
  type Versions,
} from "./sources.ts";
import { statusOf } from "./status.ts";

export const statusManager = "global-pull-secret-status";

export type StatusWriter = AnyStatusWriter<GlobalPullSecret, GlobalPullSecretStatus>;

/** The part of a run's policy that status reports. */
export type ReportedPolicy = Pick<InForce, "waits" | "requests" | "problems"> &
  Readonly<{
    policy: Pick<Policy, "managementState">;
    object: GlobalPullSecret | undefined;
  }>;

/** The part of a run's verdict that status reports. */
export type JudgedSources = Pick<StatusFacts, "sources" | "registries" | "withdrawsAt">;

const nothingJudged: JudgedSources = { sources: [], registries: [], withdrawsAt: undefined };

export function statusReporter(writer: StatusWriter, now: () => Date) {
  let reading: ReportedPolicy | undefined;
  let stage: Stage = { kind: "starting" };
  let judged = nothingJudged;
  let known: ServedVersions = nothingKnown;
  let uid: string | undefined;

  function report(troubles: StatusFacts["troubles"]): void {
    const { object, policy, requests, waits } = reading ?? {};
    if (object === undefined || policy === undefined) return;
    if (stage.kind === "rollout") {
      const { revision, view } = stage.progress;
      const waiting = view?.pending !== "no";
      const versions = versionsOf(judged.sources);
      const out = isPublishedOut(stage.progress);
      known = servedAfter(known, { revision, same: !waiting, out, versions });
    }
    const facts: StatusFacts = {
      generation: object.metadata.generation ?? 0,
      managementState: policy.managementState,
      reason: requests?.reason ?? "",
      specWaits: waits === true,
      stage,
      troubles,
      ...judged,
      served: known.served,
    };
    writer.write(object, statusOf(facts, writer.before(object), now()));
  }

  return {
    /**
     * Begins a run. Reads the served versions from the status, because another controller might
     * have written the status.
     */
    begins(next: ReportedPolicy): void {
      reading = next;
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
    /** Ends the run, with the troubles that still last. */
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
 * Versions of the accepted sources, and undefined for an extra source that is missing. A source
 * that is refused or unreadable keeps its previous version.
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

/**
 * Writes GlobalPullSecret's status: at most once a second, and only if the status changed. Nothing
 * waits for a write. A failed write affects nothing else, and is repeated with the status that is
 * then current.
 */
import { isDeepStrictEqual } from "node:util";
import type { GlobalPullSecret, GlobalPullSecretStatus } from "#api/global-pull-secret.ts";
import { globalPullSecretName } from "#contract/names.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { backoff } from "#kube/client/retry.ts";
import { globalPullSecretPath } from "#kube/client/paths.ts";
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

/**
 * The pause between two writes. In a rollout the counts change several times a second, often for
 * hours.
 */
const pauseMilliseconds = 1000;

/**
 * Field manager of status. The spec has another field manager, so that an apply of the status
 * removes no field of the spec, and an apply of the spec removes no field of the status.
 */
export const statusManager = "global-pull-secret-status";

/**
 * Milliseconds. A watch can lag by seconds. After this time we trust the object that the watch
 * shows, even if it is older than the object that we wrote.
 */
const longestLag = 60_000;

type Options = Readonly<{
  cluster: Pick<Cluster, "apply">;
  failed: (error: Error) => void;
  now?: () => number;
  pause?: (milliseconds: number) => Promise<void>;
}>;

export type StatusWriter = Readonly<{
  /** The last written status, by this controller or the previous controller. */
  before: (object: GlobalPullSecret) => GlobalPullSecretStatus | undefined;
  /** Queues a status. Returns at once and never fails. */
  write: (object: GlobalPullSecret, status: GlobalPullSecretStatus) => void;
  /** Resolves when no status waits. */
  idle: () => Promise<void>;
}>;

type QueuedStatus = Readonly<{ uid: string; status: GlobalPullSecretStatus }>;

export function statusWriter(options: Options): StatusWriter {
  const { cluster, failed, pause = later, now = () => performance.now() } = options;
  /** The status that is or will be written. Later statuses continue its times and counts. */
  let latest: QueuedStatus | undefined;
  let waiting: QueuedStatus | undefined;
  /** The object after the last write, from the API server's answer. */
  let answered: Readonly<{ object: GlobalPullSecret; at: number }> | undefined;
  let worker: Promise<void> | undefined;

  async function work(): Promise<void> {
    let failures = 0;
    for (let one = waiting; one !== undefined; one = waiting) {
      try {
        await send(one);
        failures = 0;
        if (waiting === one) waiting = undefined;
        await pause(pauseMilliseconds);
      } catch (error) {
        if (error instanceof ApiError && (error.status === 404 || error.status === 409)) {
          // The object is gone, was replaced, or another controller writes it. The next run will
          // show which of these is true.
          latest = waiting = undefined;
          return;
        }
        failures += 1;
        failed(error as Error);
        await pause(Math.max(pauseMilliseconds, backoff(failures)));
      }
    }
  }

  async function send({ uid, status }: QueuedStatus): Promise<void> {
    // The uid keeps the apply from creating an object that was deleted meanwhile.
    const metadata = { name: globalPullSecretName, uid };
    const body = {
      apiVersion: "globalpullsecret.io/v1alpha1",
      kind: "GlobalPullSecret",
      metadata,
      status,
    };
    const how = { manager: statusManager, force: true };
    const path = `${globalPullSecretPath}/status`;
    answered = { object: await cluster.apply<GlobalPullSecret>(path, body, how), at: now() };
  }

  /** True if the live status is not ours: another client wrote it, or etcd was restored. */
  function isOverwritten({ metadata, status }: GlobalPullSecret): boolean {
    if (answered === undefined || waiting !== undefined) return false;
    const { object, at } = answered;
    if (metadata.uid !== object.metadata.uid || isDeepStrictEqual(status, object.status))
      return false;
    return isNewer(metadata, object.metadata) || now() - at > longestLag;
  }

  const before = ({ metadata, status }: GlobalPullSecret) =>
    latest !== undefined && latest.uid === metadata.uid ? latest.status : status;

  return {
    before,
    write(object, status) {
      if (isDeepStrictEqual(before(object), status) && !isOverwritten(object)) return;
      latest = waiting = { uid: object.metadata.uid ?? "", status };
      worker ??= work().finally(() => (worker = undefined));
    },
    idle: async () => worker,
  };
}

type Metadata = GlobalPullSecret["metadata"];

const isNewer = (one: Metadata, other: Metadata) =>
  BigInt(one.resourceVersion ?? 0) > BigInt(other.resourceVersion ?? 0);

const later = (milliseconds: number) =>
  new Promise<void>((resolve) => void setTimeout(resolve, milliseconds).unref());

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

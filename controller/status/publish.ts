/**
 * Publishes the outcome of each run: in metrics and the log, in an Event if it is new or lasts, and
 * in GlobalPullSecret's status if the status changed. All four come from the same troubles and news
 * (`outcome.ts`).
 */
import type { V1ObjectMeta } from "@kubernetes/client-node";
import type { GlobalPullSecret, GlobalPullSecretStatus } from "#api/global-pull-secret.ts";
import type { Admitted } from "#kube/apply/admission.ts";
import type { ContestedObject } from "#kube/contested-client.ts";
import type { StatusWriter } from "#runtime/status.ts";
import type { SourcesVerdict } from "../sources/accept.ts";
import type { Announce } from "./events.ts";
import * as gauges from "./gauges.ts";
import { EventSubjects, missingPodsClock, RequestTroubles, SourceWriters } from "./memory.ts";
import { troubles, type TroubleKind } from "./messages.ts";
import { waitCounts } from "./nodes.ts";
import type { ControllerMetrics } from "./metrics.ts";
import {
  newsOf,
  troublesOf,
  type Area,
  type Context,
  type Outcome,
  type Trouble,
} from "./outcome.ts";
import { nothingKnown, servedAfter, servedIn, sourceFacts, versionsOf } from "./sources.ts";
import { statusOf } from "./status.ts";
import { isPublishedOut, type Stage, type StatusFacts } from "./summary.ts";

type Options = Readonly<{
  announce: Announce;
  metrics: ControllerMetrics;
  /** The changes that admission makes to the declared objects. */
  admitted: Pick<Admitted, "differences">;
  /** The objects that another client keeps changing now. */
  contests: () => readonly ContestedObject[];
  now: () => Date;
  status: StatusWriter<GlobalPullSecret, GlobalPullSecretStatus>;
  log: (fields: object, message: string) => void;
}>;

/** Returns a function that publishes the outcome of a run. It never fails. */
export function publisher(options: Options): (outcome: Outcome) => void {
  const { announce, metrics, admitted, contests, now, log } = options;
  const subjects = new EventSubjects();
  const podless = missingPodsClock(now);
  const writers = new SourceWriters();
  const requests = new RequestTroubles();
  const status = statusPublisher(options);
  const lasting = new Map<Area, readonly Trouble[]>();
  let lastLine = "";
  let secret: V1ObjectMeta | undefined;

  function contextOf({ snapshot, verdict, stage, error }: Outcome): Context {
    return {
      subjects: {
        additional: verdict ? subjects.additional(snapshot?.additional, verdict) : "",
        original: snapshot ? subjects.original(snapshot.original) : "",
      },
      podless: podless(podlessNodes(stage)),
      writers: snapshot ? writers.of(snapshot, now()) : [],
      differences: admitted.differences,
      requests: requests.after(error, failedWriteOf(stage), contests()),
    };
  }

  function logStage(stage: Stage | undefined) {
    const progress = progressOf(stage);
    if (progress === undefined) {
      if (stage?.kind !== "removal") return;
      const { step, revision } = stage.removal;
      return log({ step, revision }, "removal");
    }
    const { view, revision, served } = progress;
    const line = `${view?.phase} ${revision} ${served} ${view?.halt?.count} ${view?.pending}`;
    const nodes = view && { current: view.current, ...Object.fromEntries(waitCounts(view)) };
    if (line !== lastLine) log({ phase: view?.phase, revision, served, nodes }, "rollout");
    lastLine = line;
  }

  return (outcome) => {
    const { snapshot, stage } = outcome;
    const context = contextOf(outcome);
    const news = newsOf(outcome, context);
    const troublesByArea = troublesOf(outcome, context);
    for (const [area, areaTroubles] of Object.entries(troublesByArea))
      lasting.set(area as Area, areaTroubles);
    const all = [...lasting.values()].flat();

    if (stage?.kind === "removal") secret = undefined;
    else if (snapshot !== undefined) secret = eventSecretOf(snapshot.additional?.metadata);
    const foundNow = Object.values(troublesByArea).flat();
    for (const [, notice] of foundNow) announce(notice, secret);
    for (const notice of news) announce(notice, secret);

    setTroubles(metrics, new Set(all.map(([kind]) => kind)));
    setSources(metrics, outcome);
    const value = gauges.gaugesOf(stage);
    if (value !== undefined) gauges.setGauges(metrics, value);
    logStage(stage);
    status.keep(outcome);
    // Undefined: the run failed, which is not reported yet. The status stays, because the next run
    // can succeed.
    if (context.requests !== undefined)
      status.write(all.map(([kind, { message }]) => ({ kind, message })));
  };
}

const progressOf = (stage: Stage | undefined) =>
  stage?.kind === "rollout"
    ? stage.progress
    : stage?.kind === "removal"
      ? stage.removal.progress
      : undefined;

const podlessNodes = (stage: Stage | undefined): number =>
  progressOf(stage)?.view?.waiting.filter(({ reason }) => reason === "podless").length ?? 0;

const failedWriteOf = (stage: Stage | undefined) => progressOf(stage)?.failure;

/** A Secret that only waits for finalizers counts as deleted, so no Event is about it. */
const eventSecretOf = (metadata: V1ObjectMeta | undefined) =>
  metadata?.deletionTimestamp === undefined ? metadata : undefined;

function setTroubles(metrics: ControllerMetrics, kinds: ReadonlySet<TroubleKind>): void {
  for (const [kind, { event }] of Object.entries(troubles))
    metrics.troubles.set({ reason: event }, kinds.has(kind as TroubleKind) ? 1 : 0);
}

/** Sets the series of all sources. A deleted source has no series. */
function setSources(metrics: ControllerMetrics, { verdict, stage }: Outcome): void {
  if (verdict === undefined && stage?.kind !== "removal" && stage?.kind !== "nothing") return;
  metrics.accepted.reset();
  metrics.expiry.reset();
  metrics.verified.reset();
  for (const { verified } of verdict?.registries ?? [])
    if (verified !== undefined) metrics.verified.inc({ answer: verified });
  for (const source of verdict?.sources ?? []) {
    const { name } = source;
    metrics.accepted.set({ source: name }, source.problems.length === 0 ? 1 : 0);
    const first = firstEnd(verdict?.registries ?? [], name);
    if (first !== undefined) metrics.expiry.set({ source: name }, Date.parse(first) / 1000);
  }
}

/**
 * When the first credential of a source expires, if that is known. All times have the same format,
 * so they sort as text.
 */
const firstEnd = (registries: SourcesVerdict["registries"], name: string) =>
  registries
    .filter(({ source }) => source === name)
    .flatMap(({ expires }) => expires ?? [])
    .toSorted()[0];

/** The part of the status that is about sources. */
type Judged = Pick<StatusFacts, "sources" | "registries" | "withdraws">;

const nothingJudged: Judged = { sources: [], registries: [], withdraws: undefined };

/** Keeps the facts that a run does not find again, and writes the status. */
function statusPublisher({ status: writer, now }: Pick<Options, "status" | "now">) {
  let policy: Outcome["policy"] | undefined;
  let stage: Stage = { kind: "starting" };
  let judged = nothingJudged;
  let servedVersions = nothingKnown;
  let uid: string | undefined;

  return {
    keep(outcome: Outcome): void {
      const { verdict } = outcome;
      ({ policy } = outcome);
      const { object } = policy;
      if (object !== undefined && object.metadata.uid !== uid) {
        // Another controller might have written the status.
        uid = object.metadata.uid;
        servedVersions = {
          ...servedVersions,
          served: { ...servedIn(object), ...servedVersions.served },
        };
      }
      if (outcome.stage?.kind === "nothing" || outcome.stage?.kind === "removal")
        judged = nothingJudged;
      if (outcome.stage?.kind === "nothing") servedVersions = nothingKnown;
      if (verdict !== undefined)
        judged = {
          sources: sourceFacts(verdict),
          registries: verdict.registries,
          withdraws: verdict.withdraws,
        };
      stage = stageOf(outcome) ?? stage;
      if (outcome.stage?.kind !== "rollout") return;
      const { progress } = outcome.stage;
      servedVersions = servedAfter(servedVersions, {
        revision: progress.revision,
        same: progress.view?.pending === "no",
        out: isPublishedOut(progress),
        versions: versionsOf(judged.sources),
      });
    },

    write(troubles: StatusFacts["troubles"]): void {
      const { object } = policy ?? {};
      if (policy === undefined || object === undefined) return;
      const facts: StatusFacts = {
        generation: object.metadata.generation ?? 0,
        managementState: policy.policy.managementState,
        specWaits: policy.waits,
        stage,
        troubles,
        ...judged,
        served: servedVersions.served,
      };
      writer.write(object, statusOf(facts, writer.before(object), now()));
    },
  };
}

/** With a verdict that leaves nothing to apply, the sources' troubles explain the state. */
const stageOf = ({ stage, verdict }: Outcome): Stage | undefined =>
  verdict !== undefined && verdict.target === undefined ? { kind: "blocked" } : stage;

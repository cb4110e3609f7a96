/**
 * Reports the outcome of a run: always in metrics, in GlobalPullSecret's status if the status
 * changed, and in an Event if the outcome is new or lasts.
 */
import type { KubernetesObject, V1ObjectMeta } from "@kubernetes/client-node";
import { newsOf, troublesOf, type Trouble } from "./messages.ts";
import type { Progress } from "../rollout/step.ts";
import type { Announce, Notice } from "./events.ts";
import * as gauges from "./gauges.ts";
import { Contested, type ContestedObject } from "#kube/contested-client.ts";
import type { ControllerMetrics } from "./metrics.ts";
import { additionalSecretName, sourceIds } from "#contract/names.ts";
import { isExtra, type RegistryVerdict, type SourceVerdict } from "../sources/verdict.ts";
import { EventSubjects, missingPodsClock, RequestTroubles } from "./report-state.ts";
import { owned, type OwnedName } from "#kube/client/paths.ts";
import * as messages from "./messages.ts";
import type { Admitted } from "#kube/apply/admission.ts";
import { sourceFacts } from "./sources.ts";
import { statusReporter, type ReportedPolicy, type StatusWriter } from "./status-writer.ts";
import { troubles } from "./troubles.ts";
import type { SourcesVerdict } from "../sources/accept.ts";
import type { Snapshot } from "#controller/sources/snapshot.ts";
import type { Removal } from "../withdrawal/withdrawal.ts";

type Options = Readonly<{
  announce: Announce;
  metrics: ControllerMetrics;
  /** The changes that admission makes to the declared objects. */
  admitted: Pick<Admitted, "differences">;
  /** The objects that another client keeps changing now. */
  contests: () => readonly ContestedObject[];
  now: () => Date;
  status: StatusWriter;
  log: (fields: object, message: string) => void;
}>;

/**
 * The part of a run in which the controller found a trouble. Each part of a run replaces the
 * troubles that this part found before.
 */
type Area =
  | "policy"
  | "search"
  | "cluster"
  | "requests"
  | "objects"
  | "sources"
  | "template"
  | "rollout"
  | "removal";

/** Removes the series of all sources, so that a deleted source has no series. */
function forgetSources(metrics: ControllerMetrics): void {
  metrics.accepted.reset();
  metrics.expiry.reset();
}

/**
 * When the first credential of a source expires, if that is known. All times have the same format,
 * so they sort as text.
 */
function firstEnd(registries: readonly RegistryVerdict[], { name }: SourceVerdict) {
  const own = registries.filter(({ source }) => source === name);
  return own.flatMap(({ expires }) => expires ?? []).toSorted()[0];
}

/** The label value of a source: `additional`, or the source's name. */
function labelOf({ name }: SourceVerdict): string {
  return name === additionalSecretName ? sourceIds.additional : name;
}

export function createReport({
  announce,
  metrics,
  admitted,
  contests,
  now,
  status: writer,
  log,
}: Options): Report {
  const status = statusReporter(writer, now);
  let paused = false;
  /** False if the object or its CRD does not exist. */
  let hasObject = true;
  const eventSubjects = new EventSubjects();
  const podless = missingPodsClock(now);
  const lasting = new Map<Area, readonly Trouble[]>();
  let lastLine = "";
  const requests = new RequestTroubles();
  /** The failed write of this run, and the failure that was reported last. */
  let [failure, reported]: (Error | undefined)[] = [];
  let secret: V1ObjectMeta | undefined;

  function setTroubles(area: Area, found: readonly Trouble[]): void {
    lasting.set(area, found);
    for (const [, notice] of found) announce(notice, secret);
    const kinds = new Set([...lasting.values()].flat().map(([kind]) => kind));
    for (const [kind, { event }] of Object.entries(troubles))
      metrics.troubles.set({ reason: event }, kinds.has(kind as keyof typeof troubles) ? 1 : 0);
  }

  function clearTroubles(...areas: readonly Area[]): void {
    for (const area of areas) setTroubles(area, []);
  }

  function logProgress({ view, revision, served }: Progress) {
    const line = `${view?.phase} ${revision} ${served} ${view?.failures} ${view?.pending}`;
    if (line !== lastLine)
      log({ phase: view?.phase, revision, served, nodes: view?.counts }, "rollout");
    lastLine = line;
  }

  const currentTroubles = () =>
    [...lasting.values()].flat().map(([kind, { message }]) => ({ kind, message }));

  /**
   * After the additional Secret is gone, notices need the uid of global-pull-secret to distinguish
   * installations, because each installation counts its revisions from the beginning.
   */
  const inThisInstallation = (global: KubernetesObject | undefined, notice: Notice): Notice => ({
    ...notice,
    subject: `${global?.metadata?.uid ?? ""}/${notice.subject}`,
  });

  function contestTroubles(): readonly Trouble[] {
    const found = contests();
    return found.length === 0 ? [] : [["contested", messages.contested(found)]];
  }

  return {
    begins(policyReading) {
      status.begins(policyReading);
      failure = undefined;
      paused = policyReading.policy.managementState === "Paused";
      const { problems, object } = policyReading;
      hasObject = object !== undefined;
      const subject = String(object?.metadata.generation ?? 0);
      setTroubles(
        "policy",
        problems.length === 0 ? [] : [["notAllowed", messages.notAllowed(problems, subject)]],
      );
    },

    unsearched(nodes, snapshot) {
      secret = snapshot.additional?.metadata;
      setTroubles(
        "search",
        nodes === undefined ? [] : [["unsearched", messages.unsearched(nodes)]],
      );
    },

    async unsupported(group, snapshot) {
      secret = snapshot.additional?.metadata;
      setTroubles(
        "cluster",
        group === undefined ? [] : [["unsupported", messages.unsupported(group)]],
      );
      if (group !== undefined) status.reached({ kind: "blocked" });
    },

    async foreign(names, snapshot) {
      secret = snapshot.additional?.metadata;
      const objects = names.map(
        (name) => [owned[name].split("/").slice(-2).join("/"), snapshot[name]] as const,
      );
      const subject = objects.map(([, object]) => object?.metadata?.uid ?? "").join();
      const paths = objects.map(([object]) => object);
      setTroubles(
        "objects",
        names.length === 0 ? [] : [["foreign", messages.foreign(paths, subject)]],
      );
      if (names.length > 0) status.reached({ kind: "blocked" });
    },

    async verdict(verdict, snapshot) {
      const { wanted, problems, warnings } = verdict;
      secret = snapshot.additional?.metadata;
      const subject = eventSubjects.additional(snapshot.additional, verdict);
      const aboutOriginal = eventSubjects.original(snapshot.original);
      const there = snapshot.additional !== undefined;
      forgetSources(metrics);
      for (const source of verdict.sources) {
        const labels = { source: labelOf(source) };
        metrics.accepted.set(labels, source.problems.length === 0 ? 1 : 0);
        const first = firstEnd(verdict.registries, source);
        if (first !== undefined) metrics.expiry.set(labels, Date.parse(first) / 1000);
      }
      const found: Trouble[] = [];
      status.judged({
        sources: sourceFacts(verdict),
        registries: verdict.registries,
        withdrawsAt: verdict.withdrawsAt,
      });
      if (wanted === undefined) status.reached({ kind: "blocked" });
      if (paused && verdict.withdrawsAt !== undefined) setTroubles("sources", []);
      else if (verdict.withdrawsAt !== undefined)
        announce(
          inThisInstallation(snapshot.global, messages.withdrawing(verdict.withdrawsAt)),
          undefined,
        );
      else if (problems.additional.length > 0)
        found.push([
          "rejected",
          messages.rejected(problems.additional, wanted !== undefined, subject),
        ]);
      else if (wanted !== undefined && there)
        announce(messages.accepted(wanted.fromAdditional, wanted.entries, subject), secret);
      if (problems.original.length > 0 && verdict.unknown)
        found.push(["originalUnknown", messages.originalUnknown(problems.original, aboutOriginal)]);
      else if (problems.original.length > 0)
        found.push([
          "originalRejected",
          messages.originalRejected(problems.original, aboutOriginal),
        ]);
      for (const source of verdict.sources)
        if (source.problems.length > 0 && isExtra(source))
          found.push(["sourceRejected", messages.sourceRejected(source)]);
      if (warnings.length > 0 && verdict.withdrawsAt === undefined)
        announce(messages.warned(warnings, subject), secret);
      setTroubles("sources", found);
    },

    async progress(progress, snapshot) {
      logProgress(progress);
      failure = progress.failure;
      gauges.setGauges(metrics, gauges.gaugesOf(progress, false));
      secret = snapshot.additional?.metadata;
      clearTroubles("removal");
      const without = podless(snapshot.daemonSet);
      const found: Trouble[] = [];
      if (admitted.differences.length > 0)
        found.push(["mutated", messages.mutated(admitted.differences)]);
      if (without !== undefined) found.push(["podsRefused", messages.podsRefused(without)]);
      setTroubles("template", found);
      status.reached({ kind: "rollout", progress });
      const hasSecretOnly = !hasObject && snapshot.additional !== undefined;
      setTroubles("rollout", troublesOf(progress, hasSecretOnly ? "Secret" : "GlobalPullSecret"));
      const news = newsOf(progress);
      if (news !== undefined) announce(news, secret);
    },

    async removal(removal, snapshot) {
      const { step, revision, progress, releasing, leftBehind, overdue, awaited } = removal;
      secret = undefined;
      failure = progress?.failure;
      forgetSources(metrics);
      const life = (notice: Notice) =>
        inThisInstallation(snapshot.global ?? snapshot.state, notice);
      const event = (notice: Notice) => announce(life(notice), undefined);
      const found: Trouble[] = [];
      if (progress === undefined) log({ step, revision }, "removal");
      else logProgress(progress);
      gauges.setGauges(
        metrics,
        progress ? gauges.gaugesOf(progress, true) : gauges.deleting(revision),
      );
      if (overdue !== undefined)
        found.push([
          "overdue",
          life(messages.overdue(revision, overdue.waiting, overdue.seconds, releasing)),
        ]);
      if (awaited !== undefined)
        found.push(["awaited", life(messages.awaited(revision, awaited.names, awaited.until))]);
      const without = podless(snapshot.daemonSet);
      if (without !== undefined) found.push(["podsRefused", life(messages.podsRefused(without))]);
      clearTroubles("cluster", "objects", "sources", "template", "rollout");
      setTroubles("removal", found);
      status.reached({ kind: "removal", removal });
      if (leftBehind.length > 0) event(messages.leftBehind(revision, leftBehind));
      if (progress !== undefined && releasing) event(messages.removing(revision));
      if (step !== "delete global" && step !== "delete state") return;
      gauges.setGauges(metrics, gauges.nothing);
      event(messages.removed(revision, removal.abandoned));
    },

    idle() {
      secret = undefined;
      forgetSources(metrics);
      gauges.setGauges(metrics, gauges.nothing);
      clearTroubles("search", "cluster", "requests", "objects", "sources");
      clearTroubles("template", "rollout", "removal");
      status.reached({ kind: "nothing" });
    },

    paused() {
      status.reached({ kind: "blocked" });
    },

    succeeded() {
      // The failure stays the same until the controller tries the failed write again.
      const isNews = failure !== reported;
      reported = failure;
      if (failure === undefined) requests.succeeded();
      const known = (lasting.get("requests") ?? []).filter(([kind]) => kind !== "contested");
      const found =
        failure === undefined ? [] : ((isNews ? requests.failed(failure) : undefined) ?? known);
      setTroubles("requests", [...found, ...contestTroubles()]);
      status.report(currentTroubles());
    },

    failed(error) {
      const found = error instanceof Contested ? contestTroubles() : requests.failed(error);
      if (found === undefined) return;
      setTroubles("requests", found);
      status.report(currentTroubles());
    },
  };
}

export type Report = Readonly<{
  /** The policy has been read. */
  begins: (policyReading: ReportedPolicy) => void;
  /**
   * The nodes that prevent all agents from searching for files that config.json would hide. Empty
   * if they are not known yet, undefined if agents search.
   */
  unsearched: (nodes: readonly string[] | undefined, snapshot: Snapshot) => void;
  /** `group`: undefined if no other operator owns the nodes' pull secrets. */
  unsupported: (group: string | undefined, snapshot: Snapshot) => Promise<void>;
  foreign: (names: readonly OwnedName[], snapshot: Snapshot) => Promise<void>;
  verdict: (verdict: SourcesVerdict, snapshot: Snapshot) => Promise<void>;
  progress: (progress: Progress, snapshot: Snapshot) => Promise<void>;
  removal: (removal: Removal, snapshot: Snapshot) => Promise<void>;
  /** The policy is paused, and nothing is in force. */
  paused: () => void;
  /** Nothing is declared, and none of our objects exist. */
  idle: () => void;
  /** How the whole run ended. */
  succeeded: () => void;
  failed: (error: unknown) => void;
}>;

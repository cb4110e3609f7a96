/**
 * Tells the outcome of a run: in GlobalPullSecret's status when it changes, in metrics always, and
 * in an Event when it is new or lasts.
 */
import type { KubernetesObject, V1ObjectMeta } from "@kubernetes/client-node";
import { newsOf, troublesOf, type Trouble } from "./news.ts";
import type { Progress } from "../rollout/step.ts";
import type { Announce, Notice } from "./events.ts";
import * as gauges from "../metrics/gauges.ts";
import { Contested, type ContestedObject } from "#kube/contested-client.ts";
import type { ControllerMetrics } from "../metrics/metrics.ts";
import { additionalSecretName, sourceIds } from "#contract/names.ts";
import { isExtra, type RegistryVerdict, type SourceVerdict } from "../sources/verdict.ts";
import { Occasions } from "./occasions.ts";
import { owned } from "#kube/client/paths.ts";
import { podlessClock } from "./podless.ts";
import type { Report } from "./outcome.ts";
import { RequestTroubles } from "./requests.ts";
import * as messages from "./messages.ts";
import type { Admitted } from "#kube/apply/admission.ts";
import { sourceFacts } from "../status/sources.ts";
import { statusReporter } from "./status-reporter.ts";
import type { StatusWriter } from "./status-writer.ts";
import { troubles } from "../status/troubles.ts";

type Options = Readonly<{
  announce: Announce;
  metrics: ControllerMetrics;
  /** What other people's admission policies change in what we declare. */
  admitted: Pick<Admitted, "differences">;
  /** The objects that another client writes against us, now. */
  contests: () => readonly ContestedObject[];
  now: () => Date;
  status: StatusWriter;
  log: (fields: object, message: string) => void;
}>;

/** What a trouble is about. Each run replaces what is known about every part that it reaches. */
type Area =
  | "policy"
  | "directory"
  | "cluster"
  | "requests"
  | "objects"
  | "sources"
  | "template"
  | "rollout"
  | "removal";

/** No series stays for a source that is gone. */
function forgetSources(metrics: ControllerMetrics): void {
  metrics.accepted.reset();
  metrics.expiry.reset();
}

/** When the first credential of a source ends, of those that tell; all have the same form. */
function firstEnd(registries: readonly RegistryVerdict[], { name }: SourceVerdict) {
  const own = registries.filter(({ source }) => source === name);
  return own.flatMap(({ expires }) => expires ?? []).toSorted()[0];
}

/** The metric's label values; those of the two built-in sources are older than source names. */
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
  const occasions = new Occasions();
  const podless = podlessClock(now);
  const lasting = new Map<Area, readonly Trouble[]>();
  let lastLine = "";
  const requests = new RequestTroubles();
  /** What a run that came to its end could not write, and what was reported of it last. */
  let [failure, reported]: (Error | undefined)[] = [];
  let secret: V1ObjectMeta | undefined;

  function stands(area: Area, found: readonly Trouble[]): void {
    lasting.set(area, found);
    for (const [, notice] of found) announce(notice, secret);
    const kinds = new Set([...lasting.values()].flat().map(([kind]) => kind));
    for (const [kind, { event }] of Object.entries(troubles))
      metrics.troubles.set({ reason: event }, kinds.has(kind as keyof typeof troubles) ? 1 : 0);
  }

  function ends(...areas: readonly Area[]): void {
    for (const area of areas) stands(area, []);
  }

  function logProgress({ view, revision, served }: Progress) {
    const line = `${view?.phase} ${revision} ${served} ${view?.failures} ${view?.pending}`;
    if (line !== lastLine)
      log({ phase: view?.phase, revision, served, nodes: view?.counts }, "rollout");
    lastLine = line;
  }

  const standingTroubles = () =>
    [...lasting.values()].flat().map(([kind, { message }]) => ({ kind, message }));

  /**
   * For the time after the additional Secret, whose uid told occasions apart: revisions begin again
   * in the next life.
   */
  const inThisLife = (global: KubernetesObject | undefined, notice: Notice): Notice => ({
    ...notice,
    about: `${global?.metadata?.uid ?? ""}/${notice.about}`,
  });

  function contestTroubles(): readonly Trouble[] {
    const found = contests();
    return found.length === 0 ? [] : [["contested", messages.contested(found)]];
  }

  return {
    begins(steering) {
      status.begins(steering);
      failure = undefined;
      paused = steering.policy.managementState === "Paused";
      const { problems, object } = steering;
      const about = String(object?.metadata.generation ?? 0);
      stands(
        "policy",
        problems.length === 0 ? [] : [["notAllowed", messages.notAllowed(problems, about)]],
      );
    },

    directory(kept, wanted) {
      stands(
        "directory",
        kept === undefined ? [] : [["notAllowed", messages.directoryInUse(kept, wanted)]],
      );
    },

    unsearched: (nodes) => announce(messages.unsearched(nodes), secret),

    async unsupported(group, snapshot) {
      secret = snapshot.additional?.metadata;
      stands("cluster", group === undefined ? [] : [["unsupported", messages.unsupported(group)]]);
      if (group !== undefined) status.reached({ kind: "blocked" });
    },

    async foreign(names, snapshot) {
      secret = snapshot.additional?.metadata;
      const objects = names.map(
        (name) => [owned[name].split("/").slice(-2).join("/"), snapshot[name]] as const,
      );
      const about = objects.map(([, object]) => object?.metadata?.uid ?? "").join();
      const said = objects.map(([object]) => object);
      stands("objects", names.length === 0 ? [] : [["foreign", messages.foreign(said, about)]]);
      if (names.length > 0) status.reached({ kind: "blocked" });
    },

    async verdict(verdict, snapshot) {
      const { wanted, problems, warnings } = verdict;
      secret = snapshot.additional?.metadata;
      const about = occasions.additional(snapshot.additional, verdict);
      const aboutOriginal = occasions.original(snapshot.original);
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
      if (paused && verdict.withdrawsAt !== undefined) stands("sources", []);
      else if (verdict.withdrawsAt !== undefined)
        announce(inThisLife(snapshot.global, messages.withdrawing(verdict.withdrawsAt)), undefined);
      else if (problems.additional.length > 0)
        found.push([
          "rejected",
          messages.rejected(problems.additional, wanted !== undefined, about),
        ]);
      else if (wanted !== undefined && there)
        announce(messages.accepted(wanted.fromAdditional, wanted.entries, about), secret);
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
        announce(messages.warned(warnings, about), secret);
      stands("sources", found);
    },

    async progress(progress, snapshot) {
      logProgress(progress);
      failure = progress.failure;
      gauges.show(metrics, gauges.gaugesOf(progress, false));
      secret = snapshot.additional?.metadata;
      ends("removal");
      const without = podless(snapshot.daemonSet);
      const found: Trouble[] = [];
      if (admitted.differences.length > 0)
        found.push(["mutated", messages.mutated(admitted.differences)]);
      if (without !== undefined) found.push(["podsRefused", messages.podsRefused(without)]);
      stands("template", found);
      status.reached({ kind: "rollout", progress });
      stands("rollout", troublesOf(progress));
      const news = newsOf(progress);
      if (news !== undefined) announce(news, secret);
    },

    async removal(removal, snapshot) {
      const { step, revision, progress, releasing, leftBehind, overdue, awaited } = removal;
      secret = undefined;
      failure = progress?.failure;
      forgetSources(metrics);
      const life = (notice: Notice) => inThisLife(snapshot.global ?? snapshot.state, notice);
      const event = (notice: Notice) => announce(life(notice), undefined);
      const found: Trouble[] = [];
      if (progress === undefined) log({ step, revision }, "removal");
      else logProgress(progress);
      gauges.show(metrics, progress ? gauges.gaugesOf(progress, true) : gauges.deleting(revision));
      if (overdue !== undefined)
        found.push([
          "overdue",
          life(messages.overdue(revision, overdue.waiting, overdue.seconds, releasing)),
        ]);
      if (awaited !== undefined)
        found.push(["awaited", life(messages.awaited(revision, awaited.names, awaited.until))]);
      const without = podless(snapshot.daemonSet);
      if (without !== undefined) found.push(["podsRefused", life(messages.podsRefused(without))]);
      ends("cluster", "objects", "sources", "template", "rollout");
      stands("removal", found);
      status.reached({ kind: "removal", removal });
      if (leftBehind.length > 0) event(messages.leftBehind(revision, leftBehind));
      if (progress !== undefined && releasing) event(messages.removing(revision));
      if (step !== "delete global" && step !== "delete state") return;
      gauges.show(metrics, gauges.nothing);
      event(messages.removed(revision, removal.abandoned));
    },

    idle() {
      secret = undefined;
      forgetSources(metrics);
      gauges.show(metrics, gauges.nothing);
      ends("cluster", "requests", "objects", "sources", "template", "rollout", "removal");
      status.reached({ kind: "nothing" });
    },

    paused() {
      status.reached({ kind: "blocked" });
    },

    succeeded() {
      // The same failure until that write is tried again.
      const isNews = failure !== reported;
      reported = failure;
      if (failure === undefined) requests.succeeded();
      const known = (lasting.get("requests") ?? []).filter(([kind]) => kind !== "contested");
      const found =
        failure === undefined ? [] : ((isNews ? requests.failed(failure) : undefined) ?? known);
      stands("requests", [...found, ...contestTroubles()]);
      status.report(standingTroubles());
    },

    failed(error) {
      const found = error instanceof Contested ? contestTroubles() : requests.failed(error);
      if (found === undefined) return;
      stands("requests", found);
      status.report(standingTroubles());
    },
  };
}

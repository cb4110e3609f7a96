/**
 * The outcome of a run, told: as conditions when they change, as metrics always, as an Event when
 * it is new or lasts.
 */
import type { V1ObjectMeta, V1Secret } from "@kubernetes/client-node";
import { ApiError } from "#kube/api-error.ts";
import { AdmissionError } from "#kube/apply/demands.ts";
import {
  deployedCondition,
  haltOf,
  judge,
  sourceConditions,
  troubled,
  withConditions,
  withdrawalAwaited,
  type Trouble,
} from "./conditions.ts";
import type { Progress } from "../rollout/step.ts";
import type { Announce, Notice } from "./events.ts";
import * as gauges from "../metrics/gauges.ts";
import type { Cluster } from "#kube/client.ts";
import { recall, remember, type Condition } from "../objects/annotations.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { additionalSecretName, sourceIds } from "#contract/names.ts";
import type { SourceVerdict } from "../sources/verdict.ts";
import { Occasions } from "./occasions.ts";
import { isOurs } from "#kube/ownership.ts";
import { owned } from "#kube/paths.ts";
import { podlessClock } from "./podless.ts";
import type { Report } from "./outcome.ts";
import * as messages from "./messages.ts";
import type { Admitted } from "#kube/apply/admitted.ts";
import { kindOf, troubles } from "./troubles.ts";

type Options = Readonly<{
  cluster: Cluster;
  announce: Announce;
  metrics: Metrics;
  /** What other people's admission makes of what we declare. */
  admitted: Pick<Admitted, "differences">;
  now: () => Date;
  log: (fields: object, message: string) => void;
}>;

/**
 * Of what a trouble is: each run says anew, of each of these that it comes to, what is the matter
 * with it.
 */
type Area = "cluster" | "requests" | "objects" | "sources" | "template" | "rollout" | "removal";

/**
 * One refusal may be a moment's (a right that is being granted, a webhook that restarts); the
 * second is told.
 */
const refusalsTold = 2;

/** The words of the metric: those of the two that are always meant are older than the names. */
function labelOf({ name }: SourceVerdict): string {
  return name === additionalSecretName ? sourceIds.additional : name;
}

const isExtra = ({ name }: SourceVerdict) =>
  name !== additionalSecretName && name !== sourceIds.original;

export function createReport({ cluster, announce, metrics, admitted, now, log }: Options): Report {
  const occasions = new Occasions();
  const podless = podlessClock(cluster, now);
  const standing = new Map<Area, readonly Trouble[]>();
  let lastTurn = "";
  let refusals = 0;
  let secret: V1ObjectMeta | undefined;

  function stands(area: Area, found: readonly Trouble[]): void {
    standing.set(area, found);
    for (const [, notice] of found) announce(notice, secret);
    const kinds = new Set([...standing.values()].flat().map(([kind]) => kind));
    for (const [kind, { event }] of Object.entries(troubles))
      metrics.troubles.set({ reason: event }, kinds.has(kind as keyof typeof troubles) ? 1 : 0);
  }

  function ends(...areas: readonly Area[]): void {
    for (const area of areas) stands(area, []);
  }

  function logTurn({ turn, revision, view }: Progress) {
    const reason = turn.kind === "survey" ? "" : turn.reason;
    const line = `${turn.kind}/${revision}/${reason}`;
    if (line !== lastTurn)
      log({ turn: turn.kind, revision, template: view?.template ?? null, reason }, "rollout");
    lastTurn = line;
  }

  async function conclude(global: V1Secret, conditions: readonly Condition[]): Promise<void> {
    await remember(cluster, global, { ...recall(global), conditions });
  }

  /**
   * The condition Deployed, where a run got no further. Best effort: what is refused may be this
   * very write.
   */
  async function deployed(global: V1Secret | undefined): Promise<void> {
    if (global === undefined || !isOurs(global.metadata)) return;
    const { conditions } = recall(global);
    const revision = conditions.find(({ type }) => type === "Deployed")?.revision ?? 0;
    const said = deployedCondition([...standing.values()].flat(), revision);
    await conclude(global, withConditions(conditions, [said], now())).catch(() => {});
  }

  /**
   * For the time after the additional Secret, whose uid told occasions apart: revisions begin again
   * in the next life.
   */
  const inThisLife = (global: V1Secret | undefined, notice: Notice): Notice => ({
    ...notice,
    about: `${global?.metadata?.uid ?? ""}/${notice.about}`,
  });

  return {
    async unsupported(group, snapshot) {
      secret = snapshot.additional?.metadata;
      const before = standing.get("cluster") ?? [];
      stands("cluster", group === undefined ? [] : [["unsupported", messages.unsupported(group)]]);
      if (group !== undefined || before.length > 0) await deployed(snapshot.global);
    },

    async foreign(names, snapshot) {
      secret = snapshot.additional?.metadata;
      const objects = names.map(
        (name) => [owned[name].split("/").slice(-2).join("/"), snapshot[name]] as const,
      );
      const about = objects.map(([, object]) => object?.metadata?.uid ?? "").join();
      const said = objects.map(([object]) => object);
      stands("objects", names.length === 0 ? [] : [["foreign", messages.foreign(said, about)]]);
      if (names.length > 0) await deployed(snapshot.global);
    },

    async verdict(verdict, snapshot) {
      const { wanted, problems, warnings } = verdict;
      secret = snapshot.additional?.metadata;
      const about = occasions.additional(snapshot.additional, verdict);
      const aboutOriginal = occasions.original(snapshot.original);
      const there = snapshot.additional !== undefined;
      metrics.accepted.reset();
      for (const source of verdict.sources)
        metrics.accepted.set({ source: labelOf(source) }, source.problems.length === 0 ? 1 : 0);
      const found: Trouble[] = [];
      if (verdict.withdrawsAt !== undefined)
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

    async progress(progress, verdict, snapshot) {
      logTurn(progress);
      gauges.show(metrics, gauges.gaugesOf(progress, false));
      secret = snapshot.additional?.metadata;
      ends("removal");
      const without = await podless(snapshot.daemonSet);
      const found: Trouble[] = [];
      if (admitted.differences.length > 0)
        found.push(["mutated", messages.mutated(admitted.differences)]);
      if (without !== undefined)
        found.push(["podsRefused", messages.podsRefused(without.count, without.quoted)]);
      stands("template", found);
      const waits = verdict.withdrawsAt !== undefined;
      const before = recall(progress.global).conditions.filter(
        ({ type }) => type !== "Removed" || waits,
      );
      const judgement = judge(progress, before, now());
      if (judgement === undefined) return;
      const { condition, notice } = judgement;
      const said = [
        ...sourceConditions(verdict, snapshot.original, progress.revision),
        deployedCondition(found, progress.revision),
        ...withdrawalAwaited(verdict.withdrawsAt, progress.revision),
        condition,
      ];
      await conclude(progress.global, withConditions(before, said, now()));
      const kind = kindOf(notice?.reason);
      stands("rollout", notice !== undefined && kind !== undefined ? [[kind, notice]] : []);
      if (notice !== undefined && kind === undefined) announce(notice, secret);
    },

    async removal(removal, snapshot) {
      const { step, revision, progress, releasing, leftBehind, overdue, awaited } = removal;
      secret = undefined;
      metrics.accepted.reset();
      const life = (notice: Notice) => inThisLife(snapshot.global ?? snapshot.state, notice);
      const tell = (notice: Notice) => announce(life(notice), undefined);
      const found: Trouble[] = [];
      if (progress === undefined) log({ step, revision }, "removal");
      else logTurn(progress);
      gauges.show(metrics, progress ? gauges.gaugesOf(progress, true) : gauges.deleting(revision));
      const halted = progress && haltOf(progress);
      if (halted !== undefined) found.push([kindOf(halted.reason) ?? "halted", life(halted)]);
      if (overdue !== undefined)
        found.push([
          "overdue",
          life(messages.overdue(revision, overdue.waiting, overdue.seconds, releasing)),
        ]);
      if (awaited !== undefined)
        found.push(["awaited", life(messages.awaited(revision, awaited.names, awaited.until))]);
      const without = await podless(snapshot.daemonSet);
      if (without !== undefined)
        found.push(["podsRefused", life(messages.podsRefused(without.count, without.quoted))]);
      ends("cluster", "objects", "sources", "template", "rollout");
      stands("removal", found);
      if (progress !== undefined && !removal.released) {
        const worst = found.find(([kind]) => troubles[kind].condition === "Removed");
        const message = "the nodes give back the entries";
        const withdrawing = {
          type: "Removed",
          status: "False",
          reason: "Withdrawing",
          message,
          revision,
        } as const;
        const said = worst === undefined ? withdrawing : troubled(worst, revision);
        await conclude(
          progress.global,
          withConditions(recall(progress.global).conditions, [said], now()),
        );
      }
      if (leftBehind.length > 0) tell(messages.leftBehind(revision, leftBehind));
      if (progress !== undefined && releasing) tell(messages.removing(revision));
      if (step !== "delete global" && step !== "delete state") return;
      gauges.show(metrics, gauges.nothing);
      tell(messages.removed(revision, removal.abandoned));
    },

    idle() {
      secret = undefined;
      metrics.accepted.reset();
      gauges.show(metrics, gauges.nothing);
      ends("cluster", "requests", "objects", "sources", "template", "rollout", "removal");
    },

    succeeded() {
      refusals = 0;
      ends("requests");
    },

    async failed(error) {
      const refused =
        error instanceof ApiError
          ? ![0, 409, 429].includes(error.status)
          : error instanceof AdmissionError;
      if (!refused) return;
      refusals += 1;
      if (refusals < refusalsTold) return;
      stands("requests", [["refused", messages.refused((error as Error).message)]]);
      await deployed(await cluster.get<V1Secret>(owned.global).catch(() => undefined));
    },
  };
}

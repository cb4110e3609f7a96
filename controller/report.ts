/** The outcome of a run, told: as an Event when it is new, as a condition when it changed, as metrics always. */
import type { V1ObjectMeta, V1Secret } from "@kubernetes/client-node";
import type { Verdict } from "./accept.ts";
import { contains } from "./contains.ts";
import type { Progress } from "./deploy.ts";
import type { Announce, Notice } from "./events.ts";
import type { Cluster } from "./kube.ts";
import { recall, remember, withCondition, type Condition } from "./memory.ts";
import type { Metrics } from "./metrics.ts";
import { pick } from "./nodes.ts";
import { owned } from "./paths.ts";
import type { Report } from "./reconcile.ts";
import type { Removal } from "./remove.ts";
import * as say from "./say.ts";

type Options = Readonly<{
  cluster: Cluster;
  announce: Announce;
  metrics: Metrics;
  now: () => Date;
  drainDeadlineSeconds: number;
  log: (fields: object, message: string) => void;
}>;

export function createReport({ cluster, announce, metrics, now, drainDeadlineSeconds, log }: Options): Report {
  let lastTurn = "";
  let lastOriginal = "";
  let lastEdit: { said: Readonly<Record<string, string>> | undefined; version: string } = {
    said: undefined,
    version: "",
  };

  function logTurn({ turn, revision, view }: Progress) {
    const reason = turn.kind === "survey" ? "" : turn.reason;
    const line = `${turn.kind}/${revision}/${reason}`;
    if (line !== lastTurn) log({ turn: turn.kind, revision, template: view?.template ?? null, reason }, "rollout");
    lastTurn = line;
  }

  async function conclude(global: V1Secret, conditions: readonly Condition[]): Promise<void> {
    await remember(cluster, global, { ...recall(global), conditions });
  }

  /**
   * The version in which the Secret got its present meaning: an edit of its labels or of white space is no news. What is
   * refused has no meaning to compare, and is told again when its bytes change.
   */
  function occasion(secret: V1Secret | undefined, { wanted, problems }: Verdict): string {
    const refused = wanted === undefined || problems.additional.length > 0;
    const said = refused ? secret?.data : { document: wanted.document, sources: wanted.sources };
    if (said === undefined || lastEdit.said === undefined || !isSame(said, lastEdit.said))
      lastEdit = { said, version: versionOf(secret?.metadata) };
    return lastEdit.version;
  }

  /** One that is gone is told of once for each one that was there: it may come and go any number of times. */
  function originalOccasion(secret: V1Secret | undefined): string {
    if (secret === undefined) return `gone after ${lastOriginal}`;
    lastOriginal = versionOf(secret.metadata);
    return lastOriginal;
  }

  return {
    async foreign(names, snapshot) {
      const objects = names.map((name) => [owned[name].split("/").slice(-2).join("/"), snapshot[name]] as const);
      const about = objects.map(([, object]) => object?.metadata?.uid ?? "").join();
      const said = say.foreign(
        objects.map(([object]) => object),
        about,
      );
      await announce(said, snapshot.additional?.metadata);
    },

    async verdict(verdict, snapshot) {
      const { wanted, problems, warnings } = verdict;
      const secret = snapshot.additional?.metadata;
      const about = occasion(snapshot.additional, verdict);
      const aboutOriginal = originalOccasion(snapshot.original);
      metrics.accepted.set({ source: "additional" }, problems.additional.length === 0 ? 1 : 0);
      metrics.accepted.set({ source: "original" }, problems.original.length === 0 ? 1 : 0);
      if (problems.additional.length > 0)
        await announce(say.rejected(problems.additional, wanted !== undefined, about), secret);
      else if (wanted !== undefined) await announce(say.accepted(wanted.fromAdditional, wanted.entries, about), secret);
      if (problems.original.length > 0) await announce(say.originalRejected(problems.original, aboutOriginal), secret);
      if (warnings.length > 0) await announce(say.warned(warnings, about), secret);
    },

    async progress(progress, verdict, snapshot) {
      logTurn(progress);
      measure(metrics, progress);
      const secret = snapshot.additional?.metadata;
      const before = recall(progress.global).conditions.filter(({ type }) => type !== "Removed");
      const judgement = judge(progress, before, now());
      if (judgement === undefined) return;
      let conditions = withCondition(
        before,
        acceptedCondition("Accepted", verdict.problems.additional, progress.revision),
        now(),
      );
      if (snapshot.original !== undefined || verdict.problems.original.length > 0)
        conditions = withCondition(
          conditions,
          acceptedCondition("OriginalAccepted", verdict.problems.original, progress.revision),
          now(),
        );
      conditions = withCondition(conditions, judgement.condition, now());
      if (judgement.notice !== undefined) await announce(judgement.notice, secret);
      await conclude(progress.global, conditions);
    },

    async removal(removal, snapshot) {
      if (removal.progress !== undefined) await draining(removal, removal.progress);
      else log({ step: removal.step, revision: removal.revision }, "removal");
      metrics.revision.set(removal.step === "delete global" ? 0 : removal.revision);
      if (removal.step === "delete global") await tell(snapshot.global, say.removed(removal.revision));
    },
  };

  /** For the time after the additional Secret, whose uid told occasions apart: revisions begin again in the next life. */
  async function tell(global: V1Secret | undefined, notice: Notice): Promise<void> {
    await announce({ ...notice, about: `${global?.metadata?.uid ?? ""}/${notice.about}` }, undefined);
  }

  async function draining({ revision, releasing, leftBehind }: Removal, progress: Progress): Promise<void> {
    logTurn(progress);
    measure(metrics, progress);
    const troubled = pick(progress.fates, "failed", "stuck");
    if (troubled.length > 0) await tell(progress.global, say.halted(revision, troubled));
    if (leftBehind.length > 0) await tell(progress.global, say.leftBehind(revision, leftBehind));
    if (progress.turn.kind === "served") return;
    if (releasing) await tell(progress.global, say.removing(revision));
    const said = {
      type: "Removed",
      status: "False",
      reason: "Draining",
      message: "the nodes give back the entries",
      revision,
    } as const;
    const conditions = withCondition(recall(progress.global).conditions, said, now());
    await conclude(progress.global, conditions);
    const since = Date.parse(conditions.find(({ type }) => type === "Removed")?.lastTransitionTime ?? "");
    if (now().getTime() - since < drainDeadlineSeconds * 1000) return;
    const waiting = pick(progress.fates, "failed", "stuck", "moving", "waiting").map(({ name }) => name);
    await tell(progress.global, say.overdue(revision, waiting, drainDeadlineSeconds, releasing));
  }
}

const isSame = (a: unknown, b: unknown) => contains(a, b) && contains(b, a);

const versionOf = (metadata: V1ObjectMeta | undefined) => metadata?.resourceVersion ?? "";

function acceptedCondition(
  type: "Accepted" | "OriginalAccepted",
  problems: readonly { code: string }[],
  revision: number,
) {
  const fine = problems.length === 0;
  const message = fine
    ? "in order"
    : `${problems.map(({ code }) => code).join(", ")}: the last good entries stay in force`;
  return { type, status: fine ? "True" : "False", reason: fine ? "Accepted" : "Rejected", message, revision } as const;
}

function measure(metrics: Metrics, { revision, turn, view, standing }: Progress): void {
  metrics.revision.set(revision);
  metrics.rolledOut.set(turn.kind === "served" ? 1 : 0);
  for (const state of ["desired", "updated", "available"] as const) metrics.nodes.set({ state }, view?.[state] ?? 0);
  const all = turn.kind === "served" && standing === undefined;
  if (standing === undefined && !all) return;
  for (const state of ["dead", "failed", "stuck"] as const) metrics.nodes.set({ state }, standing?.[state] ?? 0);
}

type Judgement = { condition: Omit<Condition, "lastTransitionTime">; notice: Notice | undefined };

/**
 * The rollout in words. What was said of a revision that is out stays: nodes that come and go later are not its news. Undefined for
 * what was asked for just now: the next run, 0.2 s later, sees it begin, and until then the nodes need the API.
 */
function judge(progress: Progress, conditions: readonly Condition[], now: Date): Judgement | undefined {
  const { revision, turn, view, standing, fates } = progress;
  const before = conditions.find(({ type, revision: of }) => type === "RolledOut" && of === revision);
  if (before?.status !== "True" && turn.kind === "roll") return undefined;
  const type = "RolledOut";
  const troubled = pick(fates, "failed", "stuck");
  const halted = troubled.length > 0 ? say.halted(revision, troubled) : undefined;
  if (before?.status === "True" && turn.kind !== "roll") return { condition: before, notice: halted };
  if (turn.kind === "served") {
    const total = standing?.total ?? view?.desired ?? 0;
    const seconds =
      before === undefined ? 0 : Math.round((now.getTime() - Date.parse(before.lastTransitionTime)) / 1000);
    const missing = pick(fates, "dead").map(({ name }) => name);
    const notice = say.rolledOut(revision, standing?.served ?? total, missing, seconds);
    return { condition: { type, status: "True", reason: "RolledOut", message: notice.message, revision }, notice };
  }
  if (halted !== undefined) {
    return {
      condition: { type, status: "False", reason: "Halted", message: halted.message, revision },
      notice: halted,
    };
  }
  const reason = turn.kind === "wait" ? phaseWords[turn.phase] : "RollingOut";
  return {
    condition: { type, status: "False", reason, message: `revision ${revision} is on its way`, revision },
    notice: undefined,
  };
}

const phaseWords = { birth: "StartingAgents", canary: "OneNodeFirst", wave: "RollingOut", halted: "Halted" } as const;

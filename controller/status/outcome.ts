/**
 * From the outcome of a run to what is reported: troubles, which last, and news, which are reported
 * once. Pure. `publish.ts` writes the result to Events, metrics, the log and status.
 */
import type { KubernetesObject } from "@kubernetes/client-node";
import type { GlobalPullSecret } from "#api/global-pull-secret.ts";
import type { InForce } from "#controller/policy/policy-in-force.ts";
import type { View } from "#controller/rollout/facts.ts";
import type { Progress } from "#controller/rollout/step.ts";
import type { Snapshot } from "#controller/sources/snapshot.ts";
import { owned, type OwnedName } from "#kube/client/paths.ts";
import type { Policy } from "../policy/policy.ts";
import type { SourcesVerdict } from "../sources/accept.ts";
import { isExtra } from "../sources/verdict.ts";
import type { Removal } from "../withdrawal/withdrawal.ts";
import * as messages from "./messages.ts";
import type { Notice, TroubleKind } from "./messages.ts";
import { helplessNodes, isStuck, troubleOf } from "./nodes.ts";
import type { Stage } from "./summary.ts";

/** The part of a run's policy that is reported. */
type ReportedPolicy = Pick<InForce, "waits" | "problems"> &
  Readonly<{
    policy: Pick<Policy, "managementState">;
    /** Undefined if the object or its CRD does not exist. */
    object: GlobalPullSecret | undefined;
  }>;

/**
 * What a run has found and done. Each part of a run adds its result, so a run that fails has only
 * the results of its first parts.
 */
export type Outcome = {
  readonly policy: ReportedPolicy;
  snapshot?: Snapshot;
  /** The API group of another operator that owns the nodes' pull secrets. Empty: there is none. */
  platform?: string;
  /** Objects with our names that are not ours. */
  foreign?: readonly OwnedName[];
  verdict?: SourcesVerdict;
  /** How far the run came. Undefined if it failed before. */
  stage?: Stage;
  /** Why the run failed. Undefined if it succeeded. */
  error?: unknown;
};

/** What is known in addition to the outcome, because it depends on earlier runs. */
export type Context = Readonly<{
  /** The versions of the two built-in sources in which they got their present meaning. */
  subjects: Readonly<{ additional: string; original: string }>;
  /** How many nodes lack an agent for so long that it is reported. */
  podless: number | undefined;
  /** The Secrets that change, each with the programs that wrote it. */
  writers: readonly string[];
  /** The changes that admission makes to the declared objects. */
  differences: readonly (readonly [path: string, fields: readonly string[]])[];
  /** Failed requests. Undefined if nothing changed. */
  requests: readonly Trouble[] | undefined;
}>;

export type Trouble = readonly [kind: TroubleKind, notice: Notice];

/**
 * The part of a run in which the controller found a trouble. Each part of a run replaces the
 * troubles that this part found before.
 */
export type Area =
  | "policy"
  | "cluster"
  | "requests"
  | "objects"
  | "sources"
  | "template"
  | "rollout"
  | "removal";

type Found = Partial<Readonly<Record<Area, readonly Trouble[]>>>;

/** The troubles of each part that the run has reached. The troubles of other parts stay. */
export function troublesOf(outcome: Outcome, context: Context): Found {
  const { policy, platform, foreign, verdict, stage } = outcome;
  return {
    policy: ofPolicy(policy),
    ...(stage?.kind === "nothing" && { ...nothingElse, removal: ofLeftBehind(stage.leftBehind) }),
    ...(platform !== undefined && { cluster: ofPlatform(platform) }),
    ...(foreign !== undefined && { objects: ofForeign(foreign, outcome) }),
    ...(verdict !== undefined && { sources: ofSources(verdict, context) }),
    ...(stage?.kind === "rollout" && {
      removal: [],
      template: [...ofAdmission(context), ...ofPods(context)],
      rollout: rolloutTroubles(stage.progress, context),
    }),
    ...(stage?.kind === "removal" && {
      ...nothingElse,
      removal: ofRemoval(stage.removal, outcome, context),
    }),
    ...(context.requests !== undefined && { requests: context.requests }),
  };
}

/** When nothing is declared, or everything is being removed, no other trouble lasts. */
const nothingElse: Found = {
  cluster: [],
  objects: [],
  sources: [],
  template: [],
  rollout: [],
  removal: [],
};

function ofPolicy({ problems, object }: ReportedPolicy): readonly Trouble[] {
  if (problems.length === 0) return [];
  const subject = String(object?.metadata.generation ?? 0);
  return [["notAllowed", messages.notAllowed(problems, subject)]];
}

const ofPlatform = (group: string): readonly Trouble[] =>
  group === "" ? [] : [["unsupported", messages.unsupported(group)]];

function ofForeign(names: readonly OwnedName[], { snapshot }: Outcome): readonly Trouble[] {
  if (names.length === 0) return [];
  const paths = names.map((name) => owned[name].split("/").slice(-2).join("/"));
  const subject = names.map((name) => snapshot?.[name]?.metadata?.uid ?? "").join();
  return [["foreign", messages.foreign(paths, subject)]];
}

function ofSources(verdict: SourcesVerdict, { subjects }: Context): readonly Trouble[] {
  const { target, problems, withdraws } = verdict;
  const { additional, original } = problems;
  const troubles: Trouble[] = [];
  if (withdraws === undefined && additional.length > 0)
    troubles.push([
      "rejected",
      messages.rejected(additional, target !== undefined, subjects.additional),
    ]);
  if (original.length > 0)
    troubles.push(
      verdict.unknown
        ? ["originalUnknown", messages.originalUnknown(original, subjects.original)]
        : ["originalRejected", messages.originalRejected(original, subjects.original)],
    );
  for (const source of verdict.sources)
    if (source.problems.length > 0 && isExtra(source))
      troubles.push(["sourceRejected", messages.sourceRejected(source)]);
  if (verdict.denials.length > 0) {
    const places = verdict.denials.map(({ source, path }) => `${source} ${path}`);
    troubles.push(["denied", messages.denied(verdict.denials, places.join())]);
  }
  return troubles;
}

const ofAdmission = ({ differences }: Context): readonly Trouble[] =>
  differences.length === 0 ? [] : [["mutated", messages.mutated(differences)]];

const ofPods = ({ podless }: Context): readonly Trouble[] =>
  podless === undefined ? [] : [["podsRefused", messages.podsRefused(podless)]];

const ofLeftBehind = (names: readonly string[]): readonly Trouble[] =>
  names.length === 0 ? [] : [["leftBehind", messages.leftBehind(names)]];

/** Troubles that stop a rollout until an administrator acts, or that limit it. */
export function rolloutTroubles(
  progress: Progress,
  { podless, writers }: Pick<Context, "podless" | "writers">,
): readonly Trouble[] {
  const { view } = progress;
  if (view === undefined) return [];
  const flapping: readonly Trouble[] =
    view.pending === "flapping" ? [["flapping", messages.flapping(writers)]] : [];
  return [...ofView(progress, view, podless !== undefined), ...flapping];
}

function ofView(progress: Progress, view: View, isPodsRefused: boolean): readonly Trouble[] {
  const { revision } = progress;
  const { waiting, halt } = view;
  const failed = waiting.filter(({ reason }) => reason === "failed");
  if (halt !== undefined) {
    const silent = waiting.filter(({ reason }) => reason === "silent");
    const names = (halt.by === "failed" ? failed : silent).map(({ node }) => node);
    return [["halted", messages.halted(revision, halt, names)]];
  }
  const helpless = helplessNodes(progress, isPodsRefused).map(troubleOf);
  return [
    ...(waiting.some(({ reason }) => reason === "unguarded")
      ? [["unguarded", messages.unguarded(revision)] as const]
      : []),
    ...(failed.length > 0
      ? [["failed", messages.failed(revision, failed.map(troubleOf))] as const]
      : []),
    ...(isStuck(progress, isPodsRefused)
      ? [["unserved", messages.unserved(revision, helpless)] as const]
      : []),
  ];
}

function ofRemoval(removal: Removal, outcome: Outcome, context: Context): readonly Trouble[] {
  const { revision, releasing, overdue, awaited } = removal;
  const troubles: Trouble[] = [...ofLeftBehind(removal.leftBehind)];
  if (overdue !== undefined)
    troubles.push([
      "overdue",
      messages.overdue(revision, overdue.waiting, overdue.seconds, releasing),
    ]);
  if (awaited !== undefined)
    troubles.push(["awaited", messages.awaited(revision, awaited.names, awaited.until)]);
  return [...troubles, ...ofPods(context)].map(
    ([kind, notice]) => [kind, inThisInstallation(installationOf(outcome), notice)] as const,
  );
}

/** The run's news: one Event each. */
export function newsOf(outcome: Outcome, { subjects }: Context): readonly Notice[] {
  const { verdict, stage } = outcome;
  return [
    ...(verdict === undefined ? [] : sourcesNews(verdict, outcome, subjects.additional)),
    ...(stage?.kind === "rollout" ? rolloutNews(stage.progress) : []),
    ...(stage?.kind === "removal" ? removalNews(stage.removal, outcome) : []),
  ];
}

function sourcesNews(
  { target, problems, warnings, withdraws }: SourcesVerdict,
  { policy, snapshot }: Outcome,
  subject: string,
): readonly Notice[] {
  if (withdraws !== undefined)
    return policy.policy.managementState === "Paused"
      ? []
      : [inThisInstallation(snapshot?.global, messages.withdrawing(withdraws))];
  const isAccepted = target !== undefined && problems.additional.length === 0;
  return [
    ...(isAccepted && snapshot?.additional !== undefined
      ? [messages.accepted(target.fromAdditional, target.entries, subject)]
      : []),
    ...(warnings.length > 0 ? [messages.warned(warnings, subject)] : []),
  ];
}

/**
 * The Event when a rollout is complete. Nodes that get the revision later do not cause another
 * Event.
 */
export function rolloutNews(progress: Progress): readonly Notice[] {
  const { ended, view, revision, publishedAt, now } = progress;
  if (!ended || view === undefined) return [];
  const missing = view.waiting.map(({ node }) => node);
  const seconds = Math.max(0, Math.round(now - publishedAt));
  return [messages.rolledOut(revision, view.current, missing, seconds)];
}

function removalNews(removal: Removal, outcome: Outcome): readonly Notice[] {
  const { step, revision, progress, releasing, abandoned } = removal;
  const isLast = step === "delete global" || step === "delete state";
  return [
    ...(progress !== undefined && releasing ? [messages.removing(revision)] : []),
    ...(isLast ? [messages.removed(revision, abandoned)] : []),
  ].map((notice) => inThisInstallation(installationOf(outcome), notice));
}

/**
 * After the additional Secret is gone, notices need the uid of global-pull-secret to distinguish
 * installations, because each installation counts its revisions from the beginning.
 */
const inThisInstallation = (global: KubernetesObject | undefined, notice: Notice): Notice => ({
  ...notice,
  subject: `${global?.metadata?.uid ?? ""}/${notice.subject}`,
});

const installationOf = ({ snapshot }: Outcome) => snapshot?.global ?? snapshot?.state;

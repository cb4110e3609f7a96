/**
 * The whole status of GlobalPullSecret, from the facts and the previous status. Pure. It cannot
 * contain a credential, or a hash or length of a credential, because the facts contain none.
 */
import type {
  GlobalPullSecretStatus,
  RevisionStatus,
  SourceStatus,
  StatusCondition,
} from "#api/global-pull-secret.ts";
import type { Progress } from "../rollout/step.ts";
import { conditionOf, conditionsOf, timeOf, truth } from "#kube/conditions.ts";
import type { View } from "../rollout/facts.ts";
import { listOf } from "#controller/sources/problems.ts";
import {
  type StatusFacts,
  isPodsRefused,
  isPublishedOut,
  isUnread,
  summaryOf,
  type Summary,
} from "./summary.ts";
import type { SourceFacts } from "./sources.ts";
import {
  failuresOf,
  helplessNodes,
  leftBehindNodes,
  nodesOf,
  troubleOf,
  type TroubledNode,
} from "./nodes.ts";
import type { ConditionType, Reason } from "#api/reasons.ts";

/**
 * How many registries to list. 200 take at most 200 kB, so the object fits into etcd together with
 * other clients' fields.
 */
const mostRegistries = 200;
/**
 * The longest registry that the API server accepts. The API server refuses the whole status if a
 * registry is longer.
 */
const longestRegistry = 1024;
/** The longest message of a source. The API server would accept more. */
const longestMessage = 1024;

type Before = GlobalPullSecretStatus | undefined;

export function statusOf(facts: StatusFacts, before: Before, now: Date): GlobalPullSecretStatus {
  const { generation, stage, sources, served, registries } = facts;
  const progress = progressOf(facts);
  const summary = summaryOf(facts);
  // The last leader's status stays as a whole until this leader has read the agents' pods. Else
  // Ready would become Unknown at each change of the leader.
  const isStarting = isUnread(stage) && summary.reason === "Starting";
  if (isStarting && before?.conditions !== undefined) return before;
  const revision = revisionOf(progress, summary, before?.revision, now);
  const troubled = troubledNodes(facts);
  const failures = troubled && failuresOf(troubled, before?.failures ?? [], now);
  const previous = stage.kind === "nothing" ? undefined : before;
  const nodes = (progress && nodesOf(progress)) ?? previous?.nodes;
  const listed = registries
    .filter(({ registry }) => registry.length <= longestRegistry)
    .slice(0, mostRegistries);
  const omitted = registries.length - listed.length;
  const current: readonly NewCondition[] = [
    { type: "Ready", status: summary.ready, ...words(summary) },
    { type: "Reconciling", status: truth(summary.next === "controller"), ...words(summary) },
    { type: "Stalled", status: truth(summary.next === "person"), ...words(summary) },
    sourcesAccepted(sources),
    credentialsVerified(facts),
    nodesLeftOut(facts, troubled, before),
  ];
  return {
    observedGeneration: generation,
    ...optional("revision", progress === undefined ? previous?.revision : revision),
    sources: sources.map((source) => sourceOf(source, served)),
    registries: listed,
    ...(omitted > 0 ? { registriesOmitted: omitted } : {}),
    ...optional("nodes", nodes),
    failures: failures ?? previous?.failures ?? [],
    conditions: conditionsOf(current, generation, before?.conditions, timeOf(now)),
  };
}

/** The nodes that need help. Undefined before the nodes have been read. */
function troubledNodes(facts: StatusFacts): readonly TroubledNode[] | undefined {
  if (facts.stage.kind === "nothing") return leftBehindNodes(facts.stage.leftBehind);
  const progress = progressOf(facts);
  if (progress?.view === undefined) return undefined;
  return helplessNodes(progress, isPodsRefused(facts)).map(troubleOf);
}

function progressOf({ stage }: StatusFacts): Progress | undefined {
  if (stage.kind === "rollout") return stage.progress;
  return stage.kind === "removal" ? stage.removal.progress : undefined;
}

function revisionOf(
  progress: Progress | undefined,
  { next }: Summary,
  before: RevisionStatus | undefined,
  now: Date,
): RevisionStatus | undefined {
  if (progress === undefined) return undefined;
  const { revision, served, view } = progress;
  const isOut = isPublishedOut(progress);
  const goes = revision > 0 && !isOut && next !== "nobody";
  // New nodes get the newest revision as soon as a few nodes have proved it, so the served revision
  // can be newer than the revision that most nodes have.
  const last = served > 0 && served !== revision ? served : before?.inForce;
  const inForce = isOut ? revision : last;
  const fields = {
    ...optional("inForce", inForce),
    ...(goes ? { pending: revision } : {}),
    ...(view?.halt === undefined ? {} : { refused: refusedOf(view.halt, revision, before, now) }),
  };
  // The API server turns an object into null when an apply removes its last field, and then refuses
  // the status.
  return Object.keys(fields).length > 0 ? fields : undefined;
}

function refusedOf(
  { by }: NonNullable<View["halt"]>,
  revision: number,
  before: RevisionStatus | undefined,
  now: Date,
) {
  const last = before?.refused;
  const since = last?.revision === revision ? last.since : timeOf(now);
  return { revision, since, reason: by === "failed" ? "NodesFailed" : "NodesSilent" };
}

function sourceOf(source: SourceFacts, served: StatusFacts["served"]): SourceStatus {
  const { name, accepted, reason, message } = source;
  return {
    name,
    ...optional("resourceVersion", source.resourceVersion),
    // The name of a source can be `constructor`.
    ...optional("servedResourceVersion", Object.hasOwn(served, name) ? served[name] : undefined),
    accepted,
    reason,
    message: message.slice(0, longestMessage),
  };
}

function sourcesAccepted(sources: readonly SourceFacts[]): NewCondition {
  const type = "SourcesAccepted";
  const refused = sources.filter(({ accepted }) => accepted === "False");
  const unknown = sources.filter(({ accepted }) => accepted === "Unknown");
  const list = (some: typeof sources) =>
    some.map(({ name, message }) => `${name}: ${message}`).join(" | ");
  if (refused.length > 0) {
    const reason = refused.every(({ extra }) => extra) ? "ExtraSourceRejected" : "SourceRejected";
    return { type, status: "False", reason, message: list(refused) };
  }
  if (unknown.length > 0)
    return { type, status: "Unknown", reason: "SourceUnknown", message: list(unknown) };
  return { type, status: "True", reason: "AllAccepted", message: "every source is accepted" };
}

function credentialsVerified({ registries, troubles }: StatusFacts): NewCondition {
  const type = "CredentialsVerified";
  const denied = troubles.filter(({ kind }) => kind === "denied").map(({ message }) => message);
  if (denied.length > 0)
    return { type, status: "False", reason: "CredentialsDenied", message: denied.join(" | ") };
  const accepted = registries.filter(({ verified }) => verified === "Accepted").length;
  if (accepted === 0)
    return { type, status: "Unknown", reason: "NotVerified", message: "no registry has answered" };
  const message = `${accepted} of ${registries.length} registries accept their credentials`;
  return { type, status: "True", reason: "NoneDenied", message };
}

function nodesLeftOut(
  { stage }: StatusFacts,
  troubled: readonly TroubledNode[] | undefined,
  before: Before,
): NewCondition {
  const type = "NodesLeftOut" as const;
  const none: NewCondition = {
    type,
    status: "False",
    reason: "NoneLeftOut",
    message: "no node is left out",
  };
  const awaited = stage.kind === "removal" ? stage.removal.awaited : undefined;
  if (awaited !== undefined)
    return { type, status: "True", reason: "NodesAwaited", message: listOf(awaited.names) };
  if (troubled === undefined) {
    const { status, reason, message } = conditionOf(before, type) ?? none;
    return { type, status, reason: reason as Reason, message };
  }
  if (troubled.length === 0) return none;
  const reason = stage.kind === "nothing" ? "NodesLeftBehind" : "NodesCannotBeServed";
  return { type, status: "True", reason, message: listOf(troubled.map(({ node }) => node)) };
}

const words = ({ reason, message }: Summary) => ({ reason, message });

/** The field, or no field if the value is undefined. Server-side apply treats `null` as a value. */
function optional<Name extends string, Value>(name: Name, value: Value | undefined) {
  return (value === undefined ? {} : { [name]: value }) as Partial<Record<Name, Value>>;
}

type NewCondition = Readonly<{
  type: ConditionType;
  status: StatusCondition["status"];
  reason: Reason;
  message: string;
}>;

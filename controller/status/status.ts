/**
 * The whole status of GlobalPullSecret, from the facts and the status before. Pure. No credential,
 * hash or length of one can be in it, because no fact holds any.
 */
import type {
  GlobalPullSecretStatus,
  RevisionStatus,
  SourceStatus,
  StatusCondition,
} from "#api/global-pull-secret.ts";
import type { Halt } from "#controller/rollout/halt/rollouts.ts";
import type { Progress } from "../rollout/step.ts";
import { conditionOf, timeOf } from "#kube/conditions.ts";
import { dated, type Said } from "./conditions.ts";
import type { StatusFacts, SourceFacts } from "./facts.ts";
import { failuresOf, leftOut, nodesOf } from "./nodes.ts";
import { isOut, summaryOf, type Summary } from "./summary.ts";

/**
 * Most registries listed, so that the object fits etcd with others' fields: 200 registries are 200
 * KB at the worst.
 */
const mostRegistries = 200;
/**
 * Most characters of a registry that the API server accepts; one longer name would refuse the whole
 * status.
 */
const longestRegistry = 1024;
/**
 * Most characters of a source's message. The API server would accept more, but nobody reads that.
 */
const longestMessage = 1024;

type Before = GlobalPullSecretStatus | undefined;

export function statusOf(facts: StatusFacts, before: Before, now: Date): GlobalPullSecretStatus {
  const { generation, stage, sources, served, registries } = facts;
  const progress = progressOf(facts);
  const summary = summaryOf(facts);
  const revision = revisionOf(progress, summary);
  const failures = progress && failuresOf(progress, before?.failures ?? [], now);
  const kept = stage.kind === "nothing" ? undefined : before;
  const nodes = progress === undefined ? kept?.nodes : nodesOf(progress, kept?.nodes);
  const listed = registries
    .filter(({ registry }) => registry.length <= longestRegistry)
    .slice(0, mostRegistries);
  const omitted = registries.length - listed.length;
  const said: readonly Said[] = [
    { type: "Ready", status: summary.ready, ...words(summary) },
    { type: "Reconciling", status: truth(summary.next === "controller"), ...words(summary) },
    { type: "Stalled", status: truth(summary.next === "person"), ...words(summary) },
    sourcesAccepted(sources),
    rolledOut(progress, summary),
    nodesLeftOut(progress, facts, before),
  ];
  return {
    observedGeneration: generation,
    ...(revision === undefined ? optional("revision", kept?.revision) : { revision }),
    sources: sources.map((one) => sourceOf(one, served)),
    registries: listed,
    ...(omitted > 0 ? { registriesOmitted: omitted } : {}),
    ...optional("nodes", nodes),
    failures: failures ?? kept?.failures ?? [],
    conditions: dated(said, before?.conditions ?? [], generation, now),
  };
}

/** The progress of a rollout, or of a removal. */
function progressOf({ stage }: StatusFacts): Progress | undefined {
  if (stage.kind === "rollout") return stage.progress;
  return stage.kind === "removal" ? stage.removal.progress : undefined;
}

function revisionOf(progress: Progress | undefined, { next }: Summary): RevisionStatus | undefined {
  if (progress === undefined) return undefined;
  const { revision, served, intent, rollouts } = progress;
  const goes = revision > 0 && revision !== served && intent !== "hold" && next !== "nobody";
  return {
    ...optional("inForce", served),
    ...(goes ? { pending: revision } : {}),
    ...optional("refused", rollouts.halt && refusedOf(rollouts.halt)),
  };
}

const refusals = {
  failed: "RestartFailed",
  stalled: "RestartFailedElsewhere",
  outage: "NodesOutOfReach",
} as const;

function refusedOf({ revision, since, reason }: Halt) {
  return { revision, since: timeOf(new Date(since)), reason: refusals[reason] };
}

function sourceOf(one: SourceFacts, served: StatusFacts["served"]): SourceStatus {
  const { name, accepted, reason, message } = one;
  return {
    name,
    ...optional("resourceVersion", one.resourceVersion),
    // A source may be called `constructor`.
    ...optional("servedResourceVersion", Object.hasOwn(served, name) ? served[name] : undefined),
    accepted,
    reason,
    message: message.slice(0, longestMessage),
  };
}

function sourcesAccepted(sources: readonly SourceFacts[]): Said {
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

/** The RolledOut condition, about what is published: a change that waits does not take it back. */
function rolledOut(progress: Progress | undefined, summary: Summary): Said {
  const type = "RolledOut";
  if (
    progress !== undefined &&
    progress.intent === "apply" &&
    isOut({ ...progress, waiting: false })
  )
    return {
      type,
      status: "True",
      reason: progress.daemonSetState?.desired === 0 ? "NoNodes" : "InForce",
      message: `revision ${progress.revision} is on every node that can be served`,
    };
  const status = summary.next === "nobody" ? "True" : summary.ready;
  return { type, status, ...words(summary) };
}

function nodesLeftOut(
  progress: Progress | undefined,
  { stage }: StatusFacts,
  before: Before,
): Said {
  const type = "NodesLeftOut" as const;
  const none: Said = {
    type,
    status: "False",
    reason: "NoneLeftOut",
    message: "no node is left out",
  };
  if (stage.kind === "nothing") return none;
  const awaited = stage.kind === "removal" ? stage.removal.awaited : undefined;
  if (awaited !== undefined)
    return { type, status: "True", reason: "NodesAwaited", message: listOf(awaited.names) };
  if (progress?.counts === undefined) {
    const last = conditionOf(before, type);
    const all =
      progress?.daemonSetState !== undefined &&
      progress.daemonSetState.available === progress.daemonSetState.desired;
    return last === undefined || all ? none : asBefore(type, last);
  }
  const { names, count } = leftOut(progress.fates);
  if (count === 0) return none;
  return { type, status: "True", reason: "NodesCannotBeServed", message: listOf(names, count) };
}

function asBefore(type: Said["type"], { status, reason, message }: StatusCondition): Said {
  return { type, status, reason: reason as Said["reason"], message };
}

function listOf(all: readonly string[], count = all.length): string {
  const names = all.slice(0, 10);
  const more = count > names.length ? ` and ${count - names.length} more` : "";
  return `${names.join(", ")}${more}`;
}

const words = ({ reason, message }: Summary) => ({ reason, message });
const truth = (is: boolean) => (is ? "True" : "False");

/** The field, or none: a server-side apply takes `null` for a value, so it must be absent. */
function optional<Name extends string, Value>(name: Name, value: Value | undefined) {
  return (value === undefined ? {} : { [name]: value }) as Partial<Record<Name, Value>>;
}

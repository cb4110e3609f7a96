/**
 * All messages of the controller, made from facts, and the table of all troubles. Pure. No message
 * contains a credential.
 */
import { formatProblem, type Problem } from "#pullsecret/problems/problems.ts";
import { additionalSecretName } from "#contract/names.ts";
import type { Notice as AnyNotice } from "#runtime/events.ts";
import { finding, listOf } from "#controller/sources/problems.ts";
import type { Withdrawal } from "#controller/sources/input.ts";
import type { ContestedObject } from "#kube/contested-client.ts";
import { keptAfterDeletion, type SourceVerdict } from "../sources/verdict.ts";
import { catalogue } from "#contract/node-codes.ts";
import type { View } from "../rollout/facts.ts";
import type { TroubledNode } from "./nodes.ts";
import type { ConditionType, NewsReason, Reason } from "#api/reasons.ts";

/** `condition`: undefined for a trouble that does not affect the nodes. */
type Row = Readonly<{
  event: string;
  condition: ConditionType | undefined;
  reason: Reason;
}>;

/**
 * All troubles that last and need to be reported. `event`: the label of the metric, and the reason
 * of the Event, which is repeated while the trouble lasts. `condition`: the condition of
 * GlobalPullSecret that the trouble changes. `reason`: the reason in that condition. Nothing else
 * is reported (docs/inside/decisions/lasting-failures.md).
 */
export const troubles = {
  rejected: { event: "Rejected", condition: "Stalled", reason: "SourceRejected" },
  originalRejected: { event: "OriginalRejected", condition: "Stalled", reason: "SourceRejected" },
  originalUnknown: {
    event: "OriginalUnknown",
    condition: "SourcesAccepted",
    reason: "OriginalUnknown",
  },
  sourceRejected: {
    event: "SourceRejected",
    condition: "SourcesAccepted",
    reason: "ExtraSourceRejected",
  },
  denied: {
    event: "CredentialsDenied",
    condition: "CredentialsVerified",
    reason: "CredentialsDenied",
  },
  notAllowed: { event: "PolicyNotAllowed", condition: "Stalled", reason: "NotAllowed" },
  unsupported: {
    event: "UnsupportedCluster",
    condition: "Stalled",
    reason: "UnsupportedCluster",
  },
  foreign: { event: "ForeignObject", condition: "Stalled", reason: "ForeignObject" },
  refused: { event: "RequestRefused", condition: "Stalled", reason: "RequestRefused" },
  contested: { event: "WriteContested", condition: "Stalled", reason: "WriteContested" },
  unanswered: {
    event: "RequestUnanswered",
    condition: "Reconciling",
    reason: "RequestUnanswered",
  },
  mutated: { event: "ObjectMutated", condition: undefined, reason: "InForce" },
  podsRefused: { event: "PodsRefused", condition: "Stalled", reason: "PodsRefused" },
  halted: { event: "RolloutHalted", condition: "Stalled", reason: "Halted" },
  failed: { event: "NodesFailed", condition: "NodesLeftOut", reason: "NodesCannotBeServed" },
  unguarded: { event: "PolicyMissing", condition: "Stalled", reason: "PolicyMissing" },
  flapping: { event: "SourceFlapping", condition: "Reconciling", reason: "SourceFlapping" },
  unserved: { event: "NoNodeCanBeServed", condition: "Stalled", reason: "NoNodeCanBeServed" },
  overdue: { event: "RemovalOverdue", condition: "Stalled", reason: "Overdue" },
  awaited: { event: "NodesAwaited", condition: "NodesLeftOut", reason: "NodesAwaited" },
  leftBehind: { event: "NodesLeftBehind", condition: "NodesLeftOut", reason: "NodesLeftBehind" },
} as const satisfies Record<string, Row>;

export type TroubleKind = keyof typeof troubles;
export type TroubleReason = (typeof troubles)[TroubleKind]["event"];

/** An Event about a change, or about a trouble that lasts. */
export type Notice = AnyNotice<NewsReason | TroubleReason>;

/**
 * How many lines to show. Others are only counted, because an Event has at most 1,024 characters.
 */
const shown = 5;

const line = (problem: Problem) => `${problem.code} ${formatProblem(problem)}`;

function lines(problems: readonly Problem[]): string {
  const more = problems.length > shown ? ` | and ${problems.length - shown} more` : "";
  return problems.slice(0, shown).map(line).join(" | ") + more;
}

const registries = (count: number) => (count === 1 ? "1 registry" : `${count} registries`);
const nodes = (count: number) => (count === 1 ? "1 node" : `${count} nodes`);

const list = (names: readonly string[]) => listOf(names, shown);

function lasting(kind: TroubleKind, message: string, subject: string): Notice {
  return { type: "Warning", reason: troubles[kind].event, message, subject, lasting: true };
}

export function accepted(fromAdditional: number, total: number, subject: string): Notice {
  const message = `accepted: ${registries(fromAdditional)} from this Secret, ${total} in all`;
  return { type: "Normal", reason: "Accepted", message, subject };
}

export function rejected(problems: readonly Problem[], deployed: boolean, subject: string): Notice {
  const rest = deployed ? "the last accepted entries stay in force" : "nothing is deployed";
  return lasting("rejected", `${lines(problems)} (${rest})`, subject);
}

export function originalRejected(problems: readonly Problem[], subject: string): Notice {
  return lasting(
    "originalRejected",
    `${lines(problems)} (its last accepted entries stay in force)`,
    subject,
  );
}

/** The original cannot be read, so its content is unknown. This is not a fault of the content. */
export function originalUnknown(problems: readonly Problem[], subject: string): Notice {
  return lasting(
    "originalUnknown",
    `${lines(problems)} (its last accepted entries stay in force)`,
    subject,
  );
}

/**
 * An extra source is refused. The message contains the source's name, and the subject is the
 * version of its Secret.
 */
export function sourceRejected(source: SourceVerdict): Notice {
  const { name, reason, message, resourceVersion } = source;
  return lasting("sourceRejected", message, `${name}/${reason}/${resourceVersion ?? ""}`);
}

/** Registries deny credentials that are in force. */
export function denied(problems: readonly Problem[], subject: string): Notice {
  return lasting("denied", lines(problems), subject);
}

export function warned(problems: readonly Problem[], subject: string): Notice {
  return { type: "Warning", reason: "AcceptedWithWarnings", message: lines(problems), subject };
}

/** `problems`: one sentence for each field that exceeds a limit. */
export function notAllowed(problems: readonly string[], subject: string): Notice {
  const what = problems.join(" | ");
  const problem = finding("notAllowed", "GlobalPullSecret", "cluster", what);
  return lasting("notAllowed", line(problem), subject);
}

/** `objects`: kind and name of each. */
export function foreign(objects: readonly string[], subject: string): Notice {
  const problems = objects.map((object) => finding("foreign", object, "metadata.labels"));
  return lasting("foreign", lines(problems), subject);
}

export function unsupported(group: string): Notice {
  return lasting("unsupported", line(finding("unsupported", "cluster", "apis", group)), group);
}

/** `errorText`: the error's text, which quotes no Secret (lib/kube/client/api-error.ts). */
export function refused(errorText: string): Notice {
  return lasting("refused", line(finding("refused", "API server", "request", errorText)), "");
}

export function unanswered(errorText: string): Notice {
  return lasting("unanswered", line(finding("unanswered", "API server", "request", errorText)), "");
}

/** `objects`: those that another client keeps changing. */
export function contested(objects: readonly ContestedObject[]): Notice {
  const all = objects.map(({ path, manager }) => {
    const who = manager === undefined ? "another client" : `field manager "${manager}"`;
    const name = path
      .replace(/\/status$/, "")
      .split("/")
      .slice(-2)
      .join("/");
    return `${who} keeps undoing the controller's writes of ${name}`;
  });
  const what = list([...new Set(all)]);
  return lasting("contested", line(finding("contested", "API server", "objects", what)), "");
}

/** `differences`: the objects' paths, and the fields that differ from the declared objects. */
export function mutated(
  differences: readonly (readonly [path: string, fields: readonly string[]])[],
): Notice {
  const all = differences.map(
    ([path, fields]) => `${path.split("/").slice(-2).join("/")}: ${list(fields)}`,
  );
  const what = `admission changes ${all.join(" | ")}; these changes stay`;
  return lasting("mutated", line(finding("mutated", "API server", "admission", what)), "");
}

export function podsRefused(count: number): Notice {
  const what = `${nodes(count)} without an agent, because its pod is not created`;
  return lasting("podsRefused", line(finding("podsRefused", "DaemonSet", "pods", what)), "");
}

/** `missing`: names of nodes that lack the revision. */
export function rolledOut(
  revision: number,
  served: number,
  missing: readonly string[],
  seconds: number,
): Notice {
  const later = missing.length > 0 ? `; without it: ${list(missing)}` : "";
  const message = `revision ${revision} is on ${served} of ${nodes(served + missing.length)} after ${seconds} s${later}`;
  return { type: "Normal", reason: "RolledOut", message, subject: String(revision) };
}

function listed(troubled: readonly TroubledNode[]): string {
  const some = troubled.slice(0, shown).map(({ node, message }) => `${node}: ${message}`);
  const more = troubled.length > shown ? ` | and ${troubled.length - shown} more nodes` : "";
  return some.join(" | ") + more;
}

/** `names`: the nodes that failed or are silent and still exist. The halt can count others too. */
export function halted(
  revision: number,
  { by, count }: NonNullable<View["halt"]>,
  names: readonly string[],
): Notice {
  const { code, todo } = finding("halted", "", "");
  const verb = by === "failed" ? "failed on" : "is not answered by";
  const here = names.length === 0 ? "" : ` (${listOf(names, 3, count)})`;
  const message = `${code} revision ${revision} ${verb} ${nodes(count)}${here}, so no other is asked; ${todo}`;
  return lasting("halted", message, String(revision));
}

export function unguarded(revision: number): Notice {
  const problem = finding("unguarded", "rollout", "nodes");
  return lasting("unguarded", line(problem), String(revision));
}

/** `writers`: the names of the Secrets that changed, each with the programs that wrote it. */
export function flapping(writers: readonly string[]): Notice {
  const what = `change too often, written by ${list(writers) || "unknown programs"}`;
  return lasting("flapping", line(finding("flapping", "sources", "Secrets", what)), "");
}

/** `troubled`: nodes that failed, but too few to halt the rollout. */
export function failed(revision: number, troubled: readonly TroubledNode[]): Notice {
  const what = `revision ${revision} failed on ${nodes(troubled.length)}: ${listed(troubled)}`;
  return lasting("failed", line(finding("failed", "rollout", "nodes", what)), String(revision));
}

/** `troubled`: every node without the revision, with the reason. */
export function unserved(revision: number, troubled: readonly TroubledNode[]): Notice {
  const what = `revision ${revision} waits, because no other node can be served: ${listed(troubled)}`;
  return lasting("unserved", line(finding("unserved", "rollout", "nodes", what)), String(revision));
}

/** A withdrawal that waits. */
export function withdrawing({ begins, lost }: Withdrawal): Notice {
  const at = begins?.toISOString();
  const message =
    lost.length > 0
      ? `${line(finding("sourceShrinks", additionalSecretName, "auths", list(lost)))}; they are removed at ${at}`
      : at === undefined
        ? keptAfterDeletion
        : `deleted, or without entries: at ${at} its entries will be removed, unless it is created again`;
  const type = lost.length > 0 || at === undefined ? "Warning" : "Normal";
  return { type, reason: "WithdrawalAwaited", message, subject: at ?? "Keep" };
}

export function removing(revision: number): Notice {
  const message = `withdrawing: revision ${revision} removes the entries from every node, then the objects are deleted`;
  return { type: "Normal", reason: "Removing", message, subject: String(revision) };
}

/** `names`: the absent nodes; `until`: when the controller stops waiting for them, as ISO 8601. */
export function awaited(revision: number, names: readonly string[], until: string): Notice {
  const what = `removal ${revision} waits until ${until} for ${nodes(names.length)} away: ${list(names)}`;
  return lasting("awaited", line(finding("awaited", "removal", "nodes", what)), String(revision));
}

/**
 * The message about a removal that is late. If `releasing` (this revision removes our entries), the
 * message names the revision, with which a person can end the removal (GPS306 on the page of
 * codes). With an earlier revision, this would delete our objects before any node has removed our
 * entries.
 */
export function overdue(
  revision: number,
  names: readonly string[],
  seconds: number,
  releasing: boolean,
): Notice {
  const which = releasing ? `removal ${revision}` : "the removal";
  const what = `${which} has made no progress for ${seconds} s, waiting for ${list(names) || "the DaemonSet controller"}`;
  return lasting("overdue", line(finding("overdue", "removal", "nodes", what)), String(revision));
}

/** `abandoned`: agents' pods that did not end. Their nodes have removed the entries. */
export function removed(revision: number, abandoned: number): Notice {
  const suffix = abandoned > 0 ? `; ${abandoned} of its pods do not end` : "";
  const message = `removed: DaemonSet, RoleBinding, Role, ServiceAccount and global-pull-secret are deleted${suffix}`;
  return { type: "Normal", reason: "Removed", message, subject: String(revision) };
}

/** `names`: nodes that have not confirmed the withdrawal. */
export function leftBehind(names: readonly string[]): Notice {
  const [code, , todo] = catalogue.leftBehind;
  const message = `${code} not confirmed by ${nodes(names.length)} that may keep the entries: ${list(names)}; ${todo}`;
  return lasting("leftBehind", message, names.join());
}

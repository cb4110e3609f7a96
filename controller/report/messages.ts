/**
 * Every sentence that the controller tells people. Pure: facts → Notice. None holds a credential.
 */
import { formatProblem, type Problem } from "#pullsecret/problems/problems.ts";
import {
  additionalSecretName,
  globalSecretName,
  namespace,
  retryAnnotation,
  withdrawNowAnnotation,
} from "#contract/names.ts";
import type { Notice } from "./events.ts";
import { annotations } from "#controller/objects/daemonset/annotation-names.ts";
import { finding } from "#controller/sources/read/problems.ts";
import type { ContestedObject } from "#kube/contested-client.ts";
import type { SourceVerdict } from "../sources/verdict.ts";
import type { TroubledNode } from "../status/nodes.ts";
import { troubles, type TroubleKind } from "../status/troubles.ts";

/** Lines beyond this number are counted instead of shown: an Event holds 1,024 characters. */
const shown = 5;

const line = (problem: Problem) => `${problem.code} ${formatProblem(problem)}`;

function lines(problems: readonly Problem[]): string {
  const more = problems.length > shown ? ` | and ${problems.length - shown} more` : "";
  return problems.slice(0, shown).map(line).join(" | ") + more;
}

const registries = (count: number) => (count === 1 ? "1 registry" : `${count} registries`);
const nodes = (count: number) => (count === 1 ? "1 node" : `${count} nodes`);

function list(names: readonly string[]): string {
  return (
    names.slice(0, shown).join(", ") +
    (names.length > shown ? ` and ${names.length - shown} more` : "")
  );
}

function lasting(kind: TroubleKind, message: string, about: string): Notice {
  return { type: "Warning", reason: troubles[kind].event, message, about, lasting: true };
}

export function accepted(fromAdditional: number, total: number, about: string): Notice {
  const message = `accepted: ${registries(fromAdditional)} from this Secret, ${total} in all`;
  return { type: "Normal", reason: "Accepted", message, about };
}

export function rejected(problems: readonly Problem[], deployed: boolean, about: string): Notice {
  const rest = deployed ? "the last good entries stay in force" : "nothing is deployed";
  return lasting("rejected", `${lines(problems)} (${rest})`, about);
}

export function originalRejected(problems: readonly Problem[], about: string): Notice {
  return lasting(
    "originalRejected",
    `${lines(problems)} (its last good entries stay in force)`,
    about,
  );
}

/** Not the original's fault: it cannot be read, so its content is unknown. */
export function originalUnknown(problems: readonly Problem[], about: string): Notice {
  return lasting(
    "originalUnknown",
    `${lines(problems)} (its last good entries stay in force)`,
    about,
  );
}

/** An extra source: its name is in the message, its Secret's version in the occasion. */
export function sourceRejected(source: SourceVerdict): Notice {
  const { name, reason, message, resourceVersion } = source;
  return lasting("sourceRejected", message, `${name}/${reason}/${resourceVersion ?? ""}`);
}

export function warned(problems: readonly Problem[], about: string): Notice {
  return { type: "Warning", reason: "AcceptedWithWarnings", message: lines(problems), about };
}

/** `problems`: a sentence for each field that asks for too much. */
export function notAllowed(problems: readonly string[], about: string): Notice {
  const what = problems.join(" | ");
  const found = finding("notAllowed", "GlobalPullSecret", "cluster", what);
  return lasting("notAllowed", line(found), about);
}

/** The agents stay where they have written. */
export function directoryInUse(kept: string, wanted: string): Notice {
  const detail = `${wanted}, while entries are in ${kept}`;
  const found = finding("directoryInUse", "controller", "--kubelet-directory", detail);
  return lasting("notAllowed", line(found), detail);
}

/** Agents look for no hidden files, because of these nodes. */
export function unsearched(names: readonly string[]): Notice {
  const found = finding("unsearched", "controller", "--hidden-files", list(names));
  // Once: which nodes lack it is news only for who does not know that any does.
  return { type: "Warning", reason: "HiddenFilesUnsearched", message: line(found), about: "" };
}

/** `objects`: kind and name of each. */
export function foreign(objects: readonly string[], about: string): Notice {
  const problems = objects.map((object) => finding("foreign", object, "metadata.labels"));
  return lasting("foreign", lines(problems), about);
}

/** `group`: the API group that tells of the other operator. */
export function unsupported(group: string): Notice {
  return lasting("unsupported", line(finding("unsupported", "cluster", "apis", group)), group);
}

/** `said`: the error's own words, which quote no Secret (kube/client/api-error.ts). */
export function refused(said: string): Notice {
  return lasting("refused", line(finding("refused", "API server", "request", said)), "");
}

/** `said`: the last error's own words. */
export function unanswered(said: string): Notice {
  return lasting("unanswered", line(finding("unanswered", "API server", "request", said)), "");
}

/** `objects`: those that another client writes against us. */
export function contested(objects: readonly ContestedObject[]): Notice {
  const all = objects.map(({ path, manager }) => {
    const who = manager === undefined ? "another client" : `field manager "${manager}"`;
    const name = path
      .replace(/\/status$/, "")
      .split("/")
      .slice(-2)
      .join("/");
    return `${who} undoes our writes of ${name} again and again`;
  });
  const what = list([...new Set(all)]);
  return lasting("contested", line(finding("contested", "API server", "objects", what)), "");
}

/** `differences`: paths of objects, with those of the fields that are not as declared. */
export function mutated(
  differences: readonly (readonly [path: string, fields: readonly string[]])[],
): Notice {
  const all = differences.map(
    ([path, fields]) => `${path.split("/").slice(-2).join("/")}: ${list(fields)}`,
  );
  const what = `admission changes ${all.join(" | ")}; these changes stay`;
  return lasting("mutated", line(finding("mutated", "API server", "admission", what)), "");
}

/** `count`: nodes without an agent. */
export function podsRefused(count: number): Notice {
  const what = `${nodes(count)} without an agent, because its pod is not created`;
  return lasting("podsRefused", line(finding("podsRefused", "DaemonSet", "pods", what)), "");
}

/** `missing`: names of nodes that cannot be served now. */
export function rolledOut(
  revision: number,
  served: number,
  missing: readonly string[],
  seconds: number,
): Notice {
  const later = missing.length > 0 ? `; served when they return: ${list(missing)}` : "";
  const message = `revision ${revision} is on ${served} of ${nodes(served + missing.length)} after ${seconds} s${later}`;
  return { type: "Normal", reason: "RolledOut", message, about: String(revision) };
}

function listed(troubled: readonly TroubledNode[]): string {
  const some = troubled.slice(0, shown).map(({ node, message }) => `${node}: ${message}`);
  const more = troubled.length > shown ? ` | and ${troubled.length - shown} more nodes` : "";
  return some.join(" | ") + more;
}

/** `failures`: how many nodes failed, also those that are gone. `troubled`: those that are here. */
export function halted(
  revision: number,
  failures: number,
  troubled: readonly TroubledNode[],
): Notice {
  const command = `kubectl annotate secret ${additionalSecretName} -n ${namespace} --overwrite ${retryAnnotation}=$(date +%s)`;
  const here = troubled.length === 0 ? "" : `: ${listed(troubled)}`;
  const what = `revision ${revision} failed on ${nodes(failures)} and is granted to no other${here}; to try it again: ${command}`;
  return lasting("halted", line(finding("halted", "rollout", "nodes", what)), String(revision));
}

/** `kept`: nodes whose agent's pod cannot be replaced, and why. */
export function upgradeRefused(kept: readonly Readonly<{ node: string; why: string }>[]): Notice {
  const all = kept.map(({ node, why }) => ({ node, message: why }));
  const what = `the deletion of the agent's older pod is refused on ${nodes(kept.length)}: ${listed(all)}`;
  return lasting("upgradeRefused", line(finding("upgradeRefused", "upgrade", "pods", what)), "");
}

/** `troubled`: nodes that failed with a revision that is in force on the others. */
export function failed(revision: number, troubled: readonly TroubledNode[]): Notice {
  const what = `revision ${revision} failed on ${nodes(troubled.length)}: ${listed(troubled)}`;
  return lasting("failed", line(finding("failed", "rollout", "nodes", what)), String(revision));
}

/** `troubled`: every node, with what keeps it from being served. */
export function unserved(revision: number, troubled: readonly TroubledNode[]): Notice {
  const what = `revision ${revision} waits for a node that can be served: ${listed(troubled)}`;
  return lasting("unserved", line(finding("unserved", "rollout", "nodes", what)), String(revision));
}

/** `at`: when the withdrawal begins. */
export function withdrawing(at: Date): Notice {
  const when = at.toISOString();
  const command = `kubectl annotate secret ${globalSecretName} -n ${namespace} ${withdrawNowAnnotation}=true`;
  const message = `deleted: from ${when} on its entries are taken back, unless it is created again; to begin at once: ${command}`;
  return { type: "Normal", reason: "WithdrawalAwaited", message, about: when };
}

export function removing(revision: number): Notice {
  const message = `removed: revision ${revision} takes its entries back from every node, then the objects are deleted`;
  return { type: "Normal", reason: "Removing", message, about: String(revision) };
}

/** `names`: the nodes that are away; `until`: when they are given up, ISO 8601. */
export function awaited(revision: number, names: readonly string[], until: string): Notice {
  const what = `${nodes(names.length)} away may hold the entries, and give them back when they return: ${list(names)}`;
  const command = `we wait for them until ${until}; to finish without them: ${finish(revision)}`;
  return lasting(
    "awaited",
    `${line(finding("awaited", "removal", "nodes", what))}; ${command}`,
    String(revision),
  );
}

const finish = (revision: number) =>
  `kubectl annotate secret ${globalSecretName} -n ${namespace} --overwrite ${annotations.released}=${revision}`;

/**
 * `releasing`: the revision is the one that takes the entries back. A command that named an earlier
 * one would delete the objects before any node had been asked.
 */
export function overdue(
  revision: number,
  names: readonly string[],
  seconds: number,
  releasing: boolean,
): Notice {
  const what = `removal has made no progress for ${seconds} s, waiting for ${list(names) || "the DaemonSet controller"}`;
  const byHand = releasing ? `: to finish without them: ${finish(revision)}` : "";
  const message = line(finding("overdue", "removal", "nodes", what)) + byHand;
  return lasting("overdue", message, String(revision));
}

/** `abandoned`: agents' pods that did not end. They had given everything back. */
export function removed(revision: number, abandoned: number): Notice {
  const left = abandoned > 0 ? `; ${abandoned} of its pods do not end` : "";
  const message = `removed: DaemonSet, RoleBinding, Role, ServiceAccount and global-pull-secret are deleted${left}`;
  return { type: "Normal", reason: "Removed", message, about: String(revision) };
}

export function leftBehind(revision: number, names: readonly string[]): Notice {
  const what = `${nodes(names.length)} could not be asked and may keep the entries: ${list(names)}`;
  return {
    type: "Warning",
    reason: "NodesLeftBehind",
    message: line(finding("leftBehind", "removal", "nodes", what)),
    about: String(revision),
  };
}

/** Every sentence that the controller says to people. Pure: facts → Notice. None holds a credential. */
import { formatProblem, type Problem } from "../pullsecret/problems.ts";
import { globalSecretName, namespace } from "../pullsecret/names.ts";
import type { Notice } from "./events.ts";
import { annotations } from "./ownership.ts";
import { finding } from "./problems.ts";
import type { SurveyedNode } from "./survey.ts";

/** More lines than this are counted, not shown: an Event holds 1,024 characters. */
const shown = 5;

const line = (problem: Problem) => `${problem.code} ${formatProblem(problem)}`;

function lines(problems: readonly Problem[]): string {
  const more = problems.length > shown ? ` | and ${problems.length - shown} more` : "";
  return problems.slice(0, shown).map(line).join(" | ") + more;
}

const registries = (count: number) => (count === 1 ? "1 registry" : `${count} registries`);
const nodes = (count: number) => (count === 1 ? "1 node" : `${count} nodes`);

function list(names: readonly string[]): string {
  return names.slice(0, shown).join(", ") + (names.length > shown ? ` and ${names.length - shown} more` : "");
}

export function accepted(fromAdditional: number, total: number, about: string): Notice {
  const message = `accepted: ${registries(fromAdditional)} from this Secret, ${total} in all`;
  return { type: "Normal", reason: "Accepted", message, about };
}

export function rejected(problems: readonly Problem[], deployed: boolean, about: string): Notice {
  const rest = deployed ? "the last good entries stay in force" : "nothing is deployed";
  return { type: "Warning", reason: "Rejected", message: `${lines(problems)} (${rest})`, about };
}

export function originalRejected(problems: readonly Problem[], about: string): Notice {
  return {
    type: "Warning",
    reason: "OriginalRejected",
    message: `${lines(problems)} (its last good entries stay in force)`,
    about,
  };
}

export function warned(problems: readonly Problem[], about: string): Notice {
  return { type: "Warning", reason: "AcceptedWithWarnings", message: lines(problems), about };
}

/** `objects`: kind and name of each. */
export function foreign(objects: readonly string[], about: string): Notice {
  const problems = objects.map((object) => finding("foreign", object, "metadata.labels"));
  return { type: "Warning", reason: "ForeignObject", message: lines(problems), about };
}

/** `missing`: names of nodes that cannot be served now. */
export function rolledOut(revision: number, served: number, missing: readonly string[], seconds: number): Notice {
  const later = missing.length > 0 ? `; served when they return: ${list(missing)}` : "";
  const message = `revision ${revision} is on ${served} of ${nodes(served + missing.length)} after ${seconds} s${later}`;
  return { type: "Normal", reason: "RolledOut", message, about: String(revision) };
}

/** `troubled`: the nodes that hold the rollout up, worst first. */
export function halted(revision: number, troubled: readonly SurveyedNode[]): Notice {
  const some = troubled.slice(0, shown).map(({ name, agent }) => `${name}: ${agent?.message ?? "agent not available"}`);
  const more = troubled.length > shown ? ` | and ${troubled.length - shown} more nodes` : "";
  const what = `revision ${revision} stopped at ${nodes(troubled.length)}: ${some.join(" | ")}${more}`;
  return {
    type: "Warning",
    reason: "RolloutHalted",
    message: line(finding("halted", "rollout", "nodes", what)),
    about: String(revision),
  };
}

export function removing(revision: number): Notice {
  const message = `removed: revision ${revision} takes its entries back from every node, then the objects are deleted`;
  return { type: "Normal", reason: "Removing", message, about: String(revision) };
}

/**
 * `releasing`: the revision is the one that takes the entries back. A command that named an earlier one would have the
 * objects deleted before any node was asked.
 */
export function overdue(revision: number, names: readonly string[], seconds: number, releasing: boolean): Notice {
  const what = `removal not finished after ${seconds} s, waiting for ${list(names) || "the DaemonSet controller"}`;
  const command = `kubectl annotate secret ${globalSecretName} -n ${namespace} --overwrite ${annotations.released}=${revision}`;
  const byHand = releasing ? `: to finish without them: ${command}` : "";
  const message = line(finding("overdue", "removal", "nodes", what)) + byHand;
  return { type: "Warning", reason: "RemovalOverdue", message, about: String(revision) };
}

export function removed(revision: number): Notice {
  const message = "removed: DaemonSet, RoleBinding, Role, ServiceAccount and global-pull-secret are deleted";
  return { type: "Normal", reason: "Removed", message, about: String(revision) };
}

export function leftBehind(revision: number, names: readonly string[]): Notice {
  const what = `${nodes(names.length)} not Ready kept the entries: ${list(names)}`;
  return {
    type: "Warning",
    reason: "NodesLeftBehind",
    message: line(finding("leftBehind", "removal", "nodes", what)),
    about: String(revision),
  };
}

/** Nodes, counted, and ten of them named. Pure. */
import type { NodeFailure, NodesStatus } from "#api/global-pull-secret.ts";
import { pick, type Fates } from "#controller/rollout/turn/node-state.ts";
import type { SurveyedNode } from "#controller/rollout/turn/survey-result.ts";
import type { Progress } from "../rollout/step.ts";
import { timeOf } from "#kube/conditions.ts";

/** Most nodes that a status names, however many there are. */
const mostNames = 10;
/** Most characters of a failure's message that the API server accepts. */
const longestMessage = 1024;

/**
 * Counts of nodes. `before`: the counts when nodes were last read, used while the DaemonSet's
 * counters tell enough.
 */
export function nodesOf(
  { daemonSetState, counts, fates }: Progress,
  before: NodesStatus | undefined,
): NodesStatus {
  const { desired = 0, updated = 0, available = 0 } = daemonSetState ?? {};
  const summary = `${available}/${desired}`;
  const counted = {
    summary,
    desired,
    updated,
    available,
    ...(counts === undefined ? prospectsBefore(before) : prospectsOf(fates)),
  };
  if (counts !== undefined) {
    const { refused, unreachable, excused, failed, stuck } = counts;
    return { ...counted, unfit: refused, unreachable, failed: failed + stuck + excused };
  }
  const none = { unfit: 0, unreachable: 0, failed: 0 };
  if (available === desired || before === undefined) return { ...counted, ...none };
  const { unfit, unreachable, failed } = before;
  return { ...counted, unfit, unreachable, failed };
}

type Prospects = Pick<NodesStatus, "registrable" | "prepared">;

/** How many nodes could use mode CredentialProvider, of those whose agents have reported that. */
function prospectsOf(fates: Fates): Prospects {
  const count = (by: "Agent" | "Preinstalled") =>
    fates.filter(([{ agent }]) => agent?.prospects?.includes(by)).length;
  return { registrable: count("Agent"), prepared: count("Preinstalled") };
}

function prospectsBefore(before: NodesStatus | undefined): Prospects {
  const { registrable, prepared } = before ?? {};
  return {
    ...(registrable !== undefined && { registrable }),
    ...(prepared !== undefined && { prepared }),
  };
}

/** Nodes that failed, that are alive but cannot be served, or that are unfit: the worst first. */
export function failuresOf(
  { fates, counts, daemonSetState }: Progress,
  before: readonly NodeFailure[],
  now: Date,
): readonly NodeFailure[] {
  if (counts === undefined)
    return daemonSetState?.available === daemonSetState?.desired ? [] : before;
  return pick(fates, "failed", "stuck", "excused", "refused")
    .slice(0, mostNames)
    .map((node) => failureOf(node, before, now));
}

function failureOf(
  { name, agent }: SurveyedNode,
  before: readonly NodeFailure[],
  now: Date,
): NodeFailure {
  const message = (agent?.message ?? "its agent does not become ready").slice(0, longestMessage);
  const [code] = /^GPS\d{3}\b/.exec(message) ?? [];
  const last = before.find((one) => one.node === name && one.code === code);
  const since = last?.since ?? timeOf(now);
  return { node: name, ...(code === undefined ? {} : { code }), message, since };
}

/** Names of nodes that cannot be served now, ten at most, and how many there are. */
export function leftOut(fates: Fates): Readonly<{ names: readonly string[]; count: number }> {
  const nodes = pick(fates, "refused", "excused", "unreachable");
  return { names: nodes.slice(0, mostNames).map(({ name }) => name), count: nodes.length };
}

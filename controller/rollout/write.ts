/** Executes what was decided about the agents' pods. */
import type { V1Pod } from "@kubernetes/client-node";
import { grantAnnotations } from "#contract/grant.ts";
import { syncAnnotation } from "#contract/names.ts";
import type { Action } from "#controller/grants/decision.ts";
import type { Grant, PodFacts } from "#controller/grants/facts.ts";
import { afterRefusal } from "#controller/grants/memory.ts";
import { ApiError } from "#kube/client/api-error.ts";
import { annotate, removeVersion, type Conditional } from "#kube/client/conditional.ts";
import { collections } from "#kube/client/paths.ts";
import type { RolloutContext } from "./context.ts";
import type { AgentPod } from "./pods.ts";

export type PodAction = Extract<Action, { pod: PodFacts }>;

/** True for a write of one pod, which depends on no other pod's. */
export const isOfPod = (action: Action): action is PodAction => "pod" in action;

/**
 * Requests at a time. A patch takes 3 to 10 ms, so 5,000 pods take some seconds, and an API server
 * lets one client have more than this.
 */
const parallel = 16;

/** Why admission refused a grant of the Node. */
export type Refusals = ReadonlyMap<string, string>;

/**
 * Sends these writes, some at a time. A pod that changed or is gone is looked at again. A refusal
 * is remembered for its pod. Rejects with an answer that is not about one pod, such as a 429, after
 * the writes under way have ended.
 */
export async function writePods(
  context: Pick<RolloutContext, "cluster" | "pods" | "memory" | "times">,
  actions: readonly PodAction[],
): Promise<Refusals> {
  const refusals = new Map<string, string>();
  let failed: unknown;
  const queue = actions.values();
  const work = async (): Promise<void> => {
    for (const action of queue) {
      if (failed !== undefined) {
        forgetUnsent(context, [action]);
        continue;
      }
      const { uid, node } = action.pod;
      const forget = (why: Parameters<typeof afterRefusal>[2]): void => {
        const { memory } = context;
        memory.grants = afterRefusal(memory.grants, uid, why, context.times());
      };
      try {
        const outcome = await write(context, action);
        if (outcome.is === "refused") {
          forget("admission");
          refusals.set(node, outcome.why);
        } else if (outcome.is !== "done") forget(outcome.is);
      } catch (error) {
        if (error instanceof ApiError && error.status === 429) forget("busy");
        failed ??= error;
      }
    }
  };
  await Promise.all(Array.from({ length: parallel }, work));
  if (failed !== undefined) throw failed as Error;
  return refusals;
}

/** Forgets that these writes were decided: nothing was sent. */
export function forgetUnsent(
  { memory, times }: Pick<RolloutContext, "memory" | "times">,
  actions: Iterable<PodAction>,
): void {
  for (const { pod } of actions)
    memory.grants = afterRefusal(memory.grants, pod.uid, "unsent", times());
}

async function write(
  { cluster, pods, times }: Pick<RolloutContext, "cluster" | "pods" | "times">,
  action: PodAction,
): Promise<Conditional<unknown>> {
  const { name, uid, resourceVersion } = action.pod as PodFacts & Pick<AgentPod, "name">;
  const path = `${collections.pods}/${name}`;
  const version = { uid, resourceVersion };
  if (action.kind === "delete") return await removeVersion(cluster, path, version);
  const said =
    action.kind === "sync"
      ? { [syncAnnotation]: String(Math.round(times().api * 1000)) }
      : annotationsOf(action.grant);
  const outcome = await annotate<V1Pod>(cluster, path, version, said);
  if (outcome.is === "done") pods.wrote(outcome.object);
  return outcome;
}

const annotationsOf = ({ revision, digest, since, word }: Grant) => ({
  [grantAnnotations.revision]: String(revision),
  [grantAnnotations.digest]: digest,
  [grantAnnotations.since]: since,
  [grantAnnotations.word]: word ? "true" : null,
});

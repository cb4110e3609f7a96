/** Writes to the agents' pods, and the repair of objects that no decision depends on. */
import type { V1Pod } from "@kubernetes/client-node";
import { grantAnnotations, type Grant } from "#contract/grant.ts";
import { syncAnnotation } from "#contract/names.ts";
import type { Action, PodFacts, Now, View, Memory } from "./facts.ts";
import { afterError, afterRefusal, recordUpdater } from "./node-state.ts";
import { ApiError } from "#kube/client/api-error.ts";
import { annotate, quotable, removeVersion, type Conditional } from "#kube/client/conditional.ts";
import { collections } from "#kube/client/paths.ts";
import type { AgentPod } from "./pods.ts";
import { isConflict } from "#runtime/loop.ts";
import type { Agent } from "#controller/objects/agent.ts";
import type { Requests } from "#controller/policy/policy-in-force.ts";
import type { Admitted } from "#kube/apply/admission.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import type { CollectionInformer } from "#kube/watch/informer.ts";
import type { Policy } from "../policy/policy.ts";
import type { NodeListTimer } from "./nodes.ts";

export type PodAction = Extract<Action, { pod: PodFacts }>;

/** True for a write of one pod. Such a write does not depend on other pods. */
export const isPodAction = (action: Action): action is PodAction => "pod" in action;

/**
 * Parallel requests. A patch takes 3 to 10 ms, so 5,000 pods take a few seconds. An API server
 * allows each client more parallel requests than this.
 */
const parallel = 16;

/**
 * After this many consecutive errors, all parallel requests have failed. So the cause is the API
 * server and not one of the pods.
 */
const mostInARow = parallel;

/**
 * Sends these writes in parallel. If a pod has changed or is gone, the next decision takes this
 * into account. A refusal is recorded for its pod, and so is an error that concerns only one pod.
 * But a refused sync is not recorded, because the next sync is due anyway.
 *
 * After "too many requests", nothing more is sent until Retry-After has passed. The next decision
 * then repeats the unsent writes. If no write succeeded and the error is not about a single pod,
 * rejects after all writes have ended.
 */
export async function writePods(
  context: Pick<RolloutContext, "cluster" | "pods" | "memory" | "times">,
  actions: readonly PodAction[],
): Promise<void> {
  const { memory, times } = context;
  const note = recordUpdater(memory);
  let failed: unknown;
  let busy: unknown;
  let [written, inARow] = [0, 0];
  const isOver = (): boolean =>
    failed !== undefined || inARow >= mostInARow || (memory.busyUntil ?? -1) > times().steady;
  const queue = actions.values();
  const work = async (): Promise<void> => {
    for (const action of queue) {
      const { pod, kind } = action;
      const refused = kind === "delete" ? "deletion" : "admission";
      // A sync only makes the kubelet mount the content earlier. Whatever the answer is, the pod
      // has its grant.
      const isSync = kind === "sync";
      const forget = (why: Parameters<typeof afterRefusal>[1], words?: string): void =>
        note(pod.uid, (record) => afterRefusal(record, why, times(), words));
      const count = (words: string): void => {
        if (!isSync) note(pod.uid, (record) => afterError(record, pod, times(), refused, words));
      };
      if (isOver()) {
        forget("unsent");
        continue;
      }
      try {
        const outcome = await write(context, action);
        if (outcome.is === "done") written += 1;
        else if (outcome.is !== "refused") forget(outcome.is);
        else if (!isSync) forget(refused, outcome.why);
        if (outcome.is === "conflict") count("another client changes the pod before each write");
        inARow = 0;
      } catch (error) {
        inARow += 1;
        if (!(error instanceof ApiError)) throw error;
        if (isBusy(error)) {
          // The write names the version that was read. So if the write took effect after all, its
          // repetition ends in a conflict.
          forget("busy");
          const until = times().steady + (error.retryAfterSeconds ?? 1);
          memory.busyUntil = Math.max(memory.busyUntil ?? 0, until);
          busy ??= error;
        } else if (error.status >= 500 && error.status !== 503)
          count(quotable(`${error.status} ${error.reason} ${error.detail ?? ""}`, []));
        else failed ??= error;
      }
    }
  };
  await Promise.all(Array.from({ length: parallel }, work));
  const error = failed ?? busy;
  if (error !== undefined && written === 0) throw error as Error;
}

/**
 * True if the API server has too many requests, or is unavailable and reports for how long. In both
 * cases it wrote nothing.
 */
const isBusy = ({ status, retryAfterSeconds }: ApiError): boolean =>
  status === 429 || (status === 503 && retryAfterSeconds !== undefined);

/** Records that these writes were never sent. */
export function forgetUnsent(
  { memory, times }: Pick<RolloutContext, "memory" | "times">,
  actions: Iterable<PodAction>,
): void {
  const note = recordUpdater(memory);
  for (const { pod } of actions) note(pod.uid, (record) => afterRefusal(record, "unsent", times()));
}

async function write(
  { cluster, pods, times }: Pick<RolloutContext, "cluster" | "pods" | "times">,
  action: PodAction,
): Promise<Conditional<unknown>> {
  const { name, uid, resourceVersion } = action.pod as PodFacts & Pick<AgentPod, "name">;
  const path = `${collections.pods}/${name}`;
  const version = { uid, resourceVersion };
  if (action.kind === "delete") return await removeVersion(cluster, path, version);
  const values =
    action.kind === "sync"
      ? { [syncAnnotation]: String(Math.round(times().api * 1000)) }
      : annotationsOf(action.grant);
  const outcome = await annotate<V1Pod>(cluster, path, version, values);
  if (outcome.is === "done") pods.wrote(outcome.object);
  return outcome;
}

const annotationsOf = ({ revision, digest, since, word }: Grant) => ({
  [grantAnnotations.revision]: String(revision),
  [grantAnnotations.digest]: digest,
  [grantAnnotations.since]: since,
  [grantAnnotations.word]: word ? "true" : null,
});

/**
 * Seconds until the next try: after a conflict, after the first failure, and after further
 * failures.
 */
const pauses = { conflict: 1, first: 5, later: 60 } as const;

type Failure = Readonly<{ error: Error; failures: number; until: number }>;

/**
 * Writes the agents' rights and the DaemonSet. A refused write is reported and repeated after a
 * pause. Everything else continues, because withdrawals and rotations do not depend on these
 * objects. Times are seconds of a clock that never goes back.
 */
export class Repairs {
  readonly #failed = new Map<string, Failure>();

  /** Writes the object of this name. Returns undefined if the write failed or must wait. */
  async attempt<T>(name: string, now: number, write: () => Promise<T>): Promise<T | undefined> {
    if ((this.#failed.get(name)?.until ?? now) > now) return undefined;
    try {
      const result = await write();
      this.#failed.delete(name);
      return result;
    } catch (error) {
      const failures = (this.#failed.get(name)?.failures ?? 0) + (isConflict(error) ? 0 : 1);
      const asked = error instanceof ApiError ? (error.retryAfterSeconds ?? 0) : 0;
      const pause = isConflict(error)
        ? pauses.conflict
        : failures === 1
          ? pauses.first
          : pauses.later;
      const until = now + Math.max(pause, asked);
      this.#failed.set(name, { error: error as Error, failures, until });
      return undefined;
    }
  }

  /** The error to report. This error stays the same until the next try. */
  get failure(): Error | undefined {
    const errors = [...this.#failed.values()].map(({ error }) => error);
    return errors.find((error) => !isConflict(error)) ?? errors[0];
  }

  /** Seconds until the next try. Infinite if there is none. */
  again(now: number): number {
    const ends = [...this.#failed.values()].map(({ until }) => until - now);
    return Math.min(Number.POSITIVE_INFINITY, ...ends.filter((remaining) => remaining > 0));
  }
}

export type RolloutContext = Readonly<{
  cluster: Cluster;
  admitted: Admitted;
  agent: Agent;
  policy: Pick<Policy, "rollout" | "withdrawal" | "managementState">;
  requests: Requests;
  pods: Pick<CollectionInformer<AgentPod>, "view" | "wrote">;
  /**
   * What the decisions remember while this process leads. `busyUntil`: the time of the steady clock
   * before which the API server wants no writes of pods. `view`: the last view and its revision,
   * which status shows while the pods are listed again.
   */
  memory: {
    grants: Memory;
    busyUntil?: number;
    view?: Readonly<{ view: View; revision: number }>;
  };
  nodeListTimer: NodeListTimer;
  repairs: Repairs;
  /**
   * The two times of a decision: by a clock that never goes back, and by the API server's clock.
   */
  times: () => Now;
  now: () => Date;
}>;

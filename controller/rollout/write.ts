/** Writes NodePullSecrets, and repairs objects that no decision depends on. */
import type { KubernetesObject } from "@kubernetes/client-node";
import type { Agent } from "#controller/objects/agent.ts";
import type { Admitted } from "#kube/apply/admission.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { collections } from "#kube/client/paths.ts";
import { inLanes } from "#kube/lanes.ts";
import type { CollectionInformer } from "#kube/watch/informer.ts";
import { isConflict } from "#runtime/loop.ts";
import type { Policy } from "../policy/policy.ts";
import type { Action } from "./facts.ts";
import type { Guard } from "./guard.ts";
import {
  type AgentPod,
  nodePullSecret,
  type NodeMetadata,
  type NodeObject,
  objectPath,
} from "./objects.ts";

export type ObjectAction = Extract<Action, { node: unknown }>;

/** True for a write of one NodePullSecret. Such a write does not depend on other objects. */
export const isObjectAction = (action: Action): action is ObjectAction => "node" in action;

/**
 * Parallel requests. A patch takes 3 to 10 ms, so 5,000 objects take a few seconds. An API server
 * allows each client more parallel requests than this.
 */
const parallel = 16;

/** Calls `work` with each item, as many at a time as an API server allows. */
export const inParallel = <T>(items: readonly T[], work: (item: T) => Promise<void>) =>
  inLanes(items, parallel, work);

const pathOf = ({ node }: ObjectAction): string => objectPath(node.name);

export type Writing = Readonly<{
  cluster: Pick<Cluster, "create" | "patch" | "remove">;
  objects: Pick<CollectionInformer<NodeObject>, "wrote">;
  repairs: Repairs;
  times: () => Times;
}>;

/**
 * Sends these writes in parallel. If an object has changed or is gone, the next decision takes this
 * into account. A refused write is repeated after a pause, and does not stop the other writes.
 *
 * After an error that is not about one object, such as "too many requests", nothing more is sent
 * until Retry-After has passed. The next decision then repeats the unsent writes. If no write
 * succeeded, the call rejects with this error.
 */
export async function writeObjects(
  { cluster, objects, repairs, times }: Writing,
  actions: readonly ObjectAction[],
): Promise<void> {
  const paths = new Set(actions.map(pathOf));
  const isOver = (name: string) => name.startsWith(collections.nodePullSecrets) && !paths.has(name);
  repairs.forget(times().steady, isOver);
  let failed: unknown;
  let written = 0;
  await inParallel(actions, async (action) => {
    if (repairs.isBusy(times().steady)) return;
    await repairs.attempt(pathOf(action), times().steady, async () => {
      try {
        const object = await send(cluster, action);
        if (object !== undefined) objects.wrote(object);
        written += 1;
      } catch (error) {
        if (!(error instanceof ApiError) || !isAnswered(error)) {
          failed ??= error;
          repairs.pause(times().steady, error);
        } else if (!isOutdated(error)) throw error;
      }
    });
  });
  if (failed !== undefined && written === 0) throw failed as Error;
}

/** The object as it was stored. Undefined after a deletion. */
async function send(
  cluster: Writing["cluster"],
  action: ObjectAction,
): Promise<KubernetesObject | undefined> {
  if (action.kind === "create")
    return cluster.create(collections.nodePullSecrets, nodePullSecret(action.node));
  const { uid = "", resourceVersion = "" } = action.node.object ?? {};
  if (action.kind === "delete") {
    await cluster.remove(pathOf(action), uid, resourceVersion);
    return undefined;
  }
  const { revision, digest, attempt } = action.order;
  const spec = { revision, digest, attempt };
  return cluster.patch(pathOf(action), { metadata: { uid, resourceVersion }, spec });
}

/**
 * Statuses without a decision about the request: no answer, no credential, timeout, too many
 * requests, unavailable.
 */
const unanswered: ReadonlySet<number> = new Set([0, 401, 408, 429, 503]);

/** True if the API server, or a webhook, has decided about this request. */
const isAnswered = ({ status, isDenial }: ApiError): boolean => isDenial || !unanswered.has(status);

/** True if another version of the object, or no object, has the name now. */
const isOutdated = ({ status, isDenial }: ApiError): boolean =>
  !isDenial && (status === 404 || status === 409);

/**
 * Seconds until the next try: after a conflict, after the first failure, and after further
 * failures.
 */
const pauses = { conflict: 1, first: 5, later: 60 } as const;

type Failure = Readonly<{ error: Error; failures: number; until: number }>;

/**
 * Writes objects on which no decision depends. A refused write is reported and repeated after a
 * pause. Everything else continues, because withdrawals and rotations do not depend on these
 * objects. Times are seconds of a clock that never goes back.
 */
export class Repairs {
  readonly #failed = new Map<string, Failure>();
  #busyUntil = Number.NEGATIVE_INFINITY;

  /** True while the API server wants no more writes of NodePullSecrets. */
  isBusy(now: number): boolean {
    return now < this.#busyUntil;
  }

  /** Records that the API server had no answer, and when it wants the next request. */
  pause(now: number, error: unknown): void {
    const seconds = error instanceof ApiError ? (error.retryAfterSeconds ?? 1) : 1;
    this.#busyUntil = Math.max(this.#busyUntil, now + seconds);
  }

  /** True while a write of this name must wait, because the last one was refused. */
  mustWait(name: string, now: number): boolean {
    return (this.#failed.get(name)?.until ?? now) > now;
  }

  /** Writes the object of this name. Returns undefined if the write failed or must wait. */
  async attempt<T>(name: string, now: number, write: () => Promise<T>): Promise<T | undefined> {
    if (this.mustWait(name, now)) return undefined;
    try {
      const result = await write();
      this.#failed.delete(name);
      return result;
    } catch (error) {
      const failures = (this.#failed.get(name)?.failures ?? 0) + (isConflict(error) ? 0 : 1);
      const asked = error instanceof ApiError ? (error.retryAfterSeconds ?? 0) : 0;
      const ofFailure = failures > 1 ? pauses.later : pauses.first;
      const pause = isConflict(error) ? pauses.conflict : ofFailure;
      const until = now + Math.max(pause, asked);
      this.#failed.set(name, { error: error as Error, failures, until });
      return undefined;
    }
  }

  /** Forgets the failures of objects that need no write any more, after their pauses. */
  forget(now: number, isOver: (name: string) => boolean): void {
    for (const name of this.#failed.keys())
      if (isOver(name) && !this.mustWait(name, now)) this.#failed.delete(name);
  }

  /** The error to report. This error stays the same until the next try. */
  get failure(): Error | undefined {
    const errors = [...this.#failed.values()].map(({ error }) => error);
    return errors.find((error) => !isConflict(error)) ?? errors[0];
  }

  /** Seconds until the next try. Infinite if there is none. */
  again(now: number): number {
    const times = [this.#busyUntil, ...[...this.#failed.values()].map(({ until }) => until)];
    const ends = times.map((until) => until - now);
    return Math.min(Number.POSITIVE_INFINITY, ...ends.filter((remaining) => remaining > 0));
  }
}

/** Seconds: of a clock that never goes back, and since 1970 by the API server's clock. */
type Times = Readonly<{ steady: number; api: number }>;

/** What follows the agents' pods, the NodePullSecrets and the Nodes. */
export type Followed = Readonly<{
  pods: Pick<CollectionInformer<AgentPod>, "view">;
  objects: Pick<CollectionInformer<NodeObject>, "view" | "wrote">;
  nodes: Pick<CollectionInformer<NodeMetadata>, "view">;
}>;

export type RolloutContext = Followed &
  Readonly<{
    cluster: Cluster;
    admitted: Admitted;
    agent: Agent;
    policy: Pick<Policy, "rollout" | "withdrawal" | "managementState">;
    /** The value of the retry annotation. Empty if there is none. */
    retry: string;
    repairs: Repairs;
    guard: Pick<Guard, "isGuarded" | "again">;
    /** The last revision whose rollout has ended, for the Event. Undefined: not known yet. */
    ended: { revision: number | undefined };
    times: () => Times;
    now: () => Date;
  }>;

/**
 * One step of the rollout: observe, decide and write, until a decision has nothing more to write.
 * Writes Secret, ServiceAccount, Role, RoleBinding and DaemonSet, in this order, then the nodes'
 * NodePullSecrets.
 */
import type { KubernetesObject, V1Secret } from "@kubernetes/client-node";
import { publishedMode } from "#contract/names.ts";
import type { Action, Decision, NodeFacts, View, StateFacts } from "./facts.ts";
import { decide } from "./decide.ts";
import { daemonSet, role, roleBinding, serviceAccount } from "#controller/objects/daemonset.ts";
import {
  globalSecret,
  isEdited,
  newSalt,
  readPublished,
  formerAfter,
  formerIn,
  withoutRemoved,
  type Declared,
  type Published,
} from "#controller/objects/global-secret.ts";
import { readState, writeState } from "#controller/objects/state.ts";
import type { WantedContent } from "#controller/sources/accept.ts";
import type { Snapshot } from "#controller/sources/snapshot.ts";
import { objectPath } from "./objects.ts";
import { ensure, isDrifted } from "#kube/apply/ensure.ts";
import { owned } from "#kube/client/paths.ts";
import { isObjectAction, type ObjectAction, type RolloutContext, writeObjects } from "./write.ts";
import {
  contentHash,
  factsOf,
  maxUnavailableOf,
  nothingKept,
  type Observed,
  readRollout,
  retryOf,
} from "./observe.ts";

export type Progress = Readonly<{
  /** Undefined before the agents' pods, the NodePullSecrets and the Nodes have been read once. */
  view: View | undefined;
  /** The newest revision in global-pull-secret, and the revision that new nodes get. 0: none. */
  revision: number;
  served: number;
  intent: "apply" | "release";
  /** When the newest content was published, in seconds since 1970 by the API server's clock. */
  publishedAt: number;
  /** The time of this step, in seconds since 1970 by the API server's clock. */
  now: number;
  /** The rollout of the newest content was completed in this step. */
  ended: boolean;
  /** Set when the withdrawal is complete: the nodes that have not confirmed it. */
  leftBehind: readonly string[] | undefined;
  /** Available agents, as the DaemonSet controller counts them. */
  available: number;
  /** The Nodes that the DaemonSet serves, as last seen. */
  nodes: readonly NodeFacts[];
  /**
   * The error of a write on which no other write depends, or the reason why the pods, the
   * NodePullSecrets or the Nodes cannot be watched. The error stays the same until the next try.
   */
  failure: Error | undefined;
  /** Seconds until the next step. Infinite: only after a change. */
  again: number;
  global: V1Secret | undefined;
  stateSecret: V1Secret | undefined;
}>;

/**
 * The most decisions in one step. Four are enough for a publication, its orders, and the writes
 * that follow. More decisions would only delay status and Events.
 */
const mostDecisions = 4;

export async function takeStep(
  context: RolloutContext,
  snapshot: Snapshot,
  target: WantedContent,
): Promise<Progress> {
  const step = new Step(context, snapshot, target);
  await step.repair();
  for (let round = 0; round < mostDecisions; round += 1) if (!(await step.advance())) break;
  return step.progress();
}

class Step {
  readonly #context: RolloutContext;
  readonly #wanted: WantedContent;
  readonly #retry: string;
  #objects: Snapshot;
  #published: Published | undefined;
  #state: StateFacts;
  #decision: Decision | undefined;
  #nodes: readonly NodeFacts[] = [];
  #leftBehind: Progress["leftBehind"];

  constructor(context: RolloutContext, snapshot: Snapshot, target: WantedContent) {
    this.#context = context;
    this.#wanted = target;
    this.#objects = snapshot;
    this.#published = this.#read(snapshot.global);
    this.#state = readRollout(readState(snapshot.state).rollout);
    this.#retry = retryOf(context.retry, this.#state.retry);
  }

  /** Writes the existing objects again if someone changed them, whatever the decision is. */
  async repair(): Promise<void> {
    const { global, daemonSet: live } = this.#objects;
    // An edited Secret is not restored here, because we would write the edit as our own content.
    // Instead, the next decision publishes the wanted content.
    if (this.#published !== undefined && !isEdited(global)) await this.#declare({});
    if (live !== undefined) await this.#writeAccess();
  }

  /** Decides once and writes the result. Returns true if the next decision can follow at once. */
  async advance(): Promise<boolean> {
    const { cluster, guard, repairs, times, pods, objects, nodes } = this.#context;
    const views = { pods: pods.view, objects: objects.view, nodes: nodes.view };
    const isSynced = Object.values(views).every(({ synced }) => synced);
    const isListed = Object.values(views).every(({ listed }) => listed);
    const { steady, api: now } = times();
    const facts = factsOf(this.#context, {
      now,
      objects: this.#objects,
      published: this.#published,
      target: this.#wanted,
      kept: isListed
        ? { pods: views.pods.items, objects: views.objects.items, nodes: views.nodes.items }
        : nothingKept,
      isGuarded: await guard.isGuarded(cluster, steady),
      isRefused: (node) => repairs.mustWait(objectPath(node), steady),
      drift: await this.#drift(),
      retry: this.#retry,
    });
    // A Node that is missing because the Nodes were not read is not lost.
    const decision = decide(isSynced ? facts : { ...facts, state: { ...facts.state, asked: [] } });
    if (isListed) {
      this.#decision = decision;
      this.#nodes = facts.nodes;
    }
    const actions = isSynced ? decision.actions : publicationIn(decision.actions);
    await this.#write(actions);
    return actions.some((action) => !isObjectAction(action) && action.kind !== "complete");
  }

  progress(): Progress {
    const { repairs, guard, times, pods, objects, nodes } = this.#context;
    const { numberAvailable = 0 } = this.#objects.daemonSet?.status ?? {};
    const { revision = 0, served = "nothing", intent, publishedAt = 0 } = this.#published ?? {};
    const { steady, api: now } = times();
    const failures = [pods, objects, nodes].flatMap(({ view }) => view.failure ?? []);
    return {
      view: this.#decision?.view,
      revision,
      served: served === "nothing" ? 0 : served.revision,
      intent: intent === "release" ? "release" : "apply",
      publishedAt,
      now,
      ended: this.#noteEnd(revision),
      leftBehind: this.#leftBehind,
      available: numberAvailable,
      nodes: this.#nodes,
      failure: repairs.failure ?? failures[0],
      again: Math.min(this.#decision?.again ?? 1, repairs.again(steady), guard.again(steady)),
      global: this.#objects.global,
      stateSecret: this.#objects.state,
    };
  }

  /**
   * Whether the rollout of this revision ended since the last step. False in the first step,
   * because the rollout might have ended long before.
   */
  #noteEnd(revision: number): boolean {
    const { ended } = this.#context;
    const isFirst = ended.revision === undefined;
    const isNew = this.#decision?.view.phase === "done" && ended.revision !== revision;
    if (isNew) ended.revision = revision;
    ended.revision ??= 0;
    return isNew && !isFirst;
  }

  /** Writes in order, NodePullSecrets that follow each other in parallel. */
  async #write(actions: readonly Action[]): Promise<void> {
    let objectActions: ObjectAction[] = [];
    for (const action of actions) {
      if (isObjectAction(action)) {
        objectActions.push(action);
        continue;
      }
      await writeObjects(this.#context, objectActions);
      objectActions = [];
      await this.#writeObject(action);
    }
    await writeObjects(this.#context, objectActions);
  }

  async #writeObject(action: Exclude<Action, ObjectAction>): Promise<void> {
    const published = this.#published;
    switch (action.kind) {
      case "publish": {
        const { document, sources, intent } = this.#wanted;
        const { revision, mode } = action;
        const served = this.#servedNext(action.served);
        await this.#declare({
          newest: { document, sources, intent, revision, salt: newSalt() },
          mode,
          served: served === "nothing" ? served : withoutRemoved(served, document),
          publishedAt: this.#context.times().api,
          former: formerAfter(this.#objects.global, { document, sources }),
        });
        return;
      }
      case "promote":
        return await this.#declare({ served: published ?? "nothing" });
      case "save":
        return await this.#save(action.state);
      case "write-template":
        return await this.#writeTemplate(action.maxUnavailable);
      case "complete":
        this.#leftBehind = action.leftBehind;
    }
  }

  #servedNext(served: "nothing" | "same" | "newest"): Published["served"] {
    const published = this.#published;
    if (published === undefined || served === "nothing") return "nothing";
    return served === "newest" ? published : published.served;
  }

  /**
   * The published Secret. If its time of publication is unknown or in the future, we use the
   * present time, because the end of a withdrawal is measured from the time of publication.
   */
  #read(secret: V1Secret | undefined): Published | undefined {
    const published = readPublished(secret);
    const now = this.#context.times().api;
    const isKnown = published !== undefined && published.publishedAt > 0;
    if (published === undefined || (isKnown && published.publishedAt <= now)) return published;
    return { ...published, publishedAt: now };
  }

  async #declare(changes: Partial<Declared>): Promise<void> {
    const { agent } = this.#context;
    const before = this.#published;
    const newest = changes.newest ?? before;
    if (newest === undefined) throw new Error("nothing is published");
    const declared = globalSecret({
      newest,
      mode: before?.mode ?? publishedMode(agent.delivery),
      served: before?.served ?? "nothing",
      publishedAt: before?.publishedAt ?? 0,
      former: formerIn(this.#objects.global),
      ...changes,
    });
    const live = this.#objects.global;
    const written = await ensure<V1Secret>(this.#context, owned.global, live, declared);
    this.#objects = { ...this.#objects, global: written };
    this.#published = this.#read(written);
  }

  async #save(state: StateFacts): Promise<void> {
    const { cluster } = this.#context;
    const content = this.#published && contentHash(this.#published);
    const whole = { ...readState(this.#objects.state), rollout: { ...state, content } };
    const written = await writeState(cluster, this.#objects.state, whole);
    this.#objects = { ...this.#objects, state: written };
    this.#state = state;
  }

  /** Writes the agents' rights. A refused write does not prevent the other writes. */
  async #writeAccess(): Promise<void> {
    const { serviceAccount: account, role: rights, roleBinding: binding } = this.#objects;
    this.#objects = {
      ...this.#objects,
      serviceAccount: await this.#repaired("serviceAccount", account, serviceAccount),
      role: await this.#repaired("role", rights, role),
      roleBinding: await this.#repaired("roleBinding", binding, roleBinding),
    };
  }

  /** Writes the declared object. Returns the live object if the write failed. */
  async #repaired<T extends KubernetesObject>(
    name: "serviceAccount" | "role" | "roleBinding" | "daemonSet",
    live: T | undefined,
    declared: T,
  ): Promise<T | undefined> {
    const { repairs, times } = this.#context;
    const write = () => ensure<T>(this.#context, owned[name], live, declared);
    return (await repairs.attempt(name, times().steady, write)) ?? live;
  }

  /** Whether the DaemonSet has drifted. `refused`: the API server does not let us write it. */
  async #drift(): Promise<Observed["drift"]> {
    const { agent, repairs, times } = this.#context;
    const { daemonSet: live } = this.#objects;
    if (live === undefined) return "none";
    const declared = daemonSet(agent, maxUnavailableOf(live), live);
    const dryRun = () => isDrifted(this.#context, live, declared);
    const isOther = await repairs.attempt("daemonSet", times().steady, dryRun);
    return isOther === undefined ? "refused" : isOther ? "some" : "none";
  }

  async #writeTemplate(maxUnavailable: number): Promise<void> {
    const { agent } = this.#context;
    await this.#writeAccess();
    const { daemonSet: live } = this.#objects;
    // The state is written before the DaemonSet, so that a removal waits for the nodes even if
    // someone deletes all other objects.
    if (readState(this.#objects.state).rollout === undefined) await this.#save(this.#state);
    const declared = daemonSet(agent, maxUnavailable, live);
    const written = await this.#repaired("daemonSet", live, declared);
    this.#objects = { ...this.#objects, daemonSet: written };
  }
}

/**
 * The actions of a publication. A publication depends on no node, so it does not wait until the
 * nodes have been read.
 */
const publicationIn = (actions: readonly Action[]): readonly Action[] =>
  actions.slice(0, actions.findIndex(({ kind }) => kind === "publish") + 1);

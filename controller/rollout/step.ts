/**
 * One step of the rollout: observe, decide and write, until a decision has nothing more to write.
 * Writes Secret, ServiceAccount, Role, RoleBinding and DaemonSet, in this order, then grants on the
 * agents' pods.
 */
import type { KubernetesObject, V1DaemonSet, V1Secret } from "@kubernetes/client-node";
import { publishedMode, retryAnnotation } from "#contract/names.ts";
import type { Action, Decision, View, StateFacts } from "./facts.ts";
import { decide, publishUnseen } from "./decide.ts";
import { daemonSet, role, roleBinding, serviceAccount } from "#controller/objects/daemonset.ts";
import { recall, remember } from "#controller/objects/annotations.ts";
import {
  globalSecret,
  isEdited,
  newSalt,
  readPublished,
  type Declared,
  type Published,
} from "#controller/objects/global-secret.ts";
import { readState, writeState } from "#controller/objects/state.ts";
import type { WantedContent } from "#controller/sources/accept.ts";
import type { Snapshot } from "#controller/sources/snapshot.ts";
import { ensure, isDrifted } from "#kube/apply/ensure.ts";
import { owned } from "#kube/client/paths.ts";
import { type RolloutContext, forgetUnsent, isPodAction, writePods } from "./write.ts";
import { factsOf, type Observed, contentHash, readRollout, retryOf } from "./observe.ts";
import { lacksNodes, noNodes, readNodes } from "./nodes.ts";
import type { AgentPod } from "./pods.ts";

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
  state: StateFacts;
  /**
   * Nodes that should have an agent, and available agents, as the DaemonSet controller counts them.
   * `isCounted`: these counts are about the present DaemonSet.
   */
  desired: number;
  isCounted: boolean;
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
 * The most decisions in one step. Four are enough for a publication, its grants, and the writes
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

type Drift = Observed["drift"];

class Step {
  readonly #context: RolloutContext;
  readonly #wanted: WantedContent;
  readonly #retry: string;
  #objects: Snapshot;
  #published: Published | undefined;
  #decision: Decision | undefined;
  #state: StateFacts;
  #ended = false;
  /** True if the wanted content is not published and the pods have not been read. */
  #waits = false;
  #completed: Progress["completed"];

  constructor(context: RolloutContext, snapshot: Snapshot, target: WantedContent) {
    this.#context = context;
    this.#wanted = target;
    this.#objects = snapshot;
    this.#published = this.#read(snapshot.global);
    this.#state = readRollout(readState(snapshot.state).rollout);
    const { [retryAnnotation]: asked = "" } = snapshot.additional?.metadata?.annotations ?? {};
    this.#retry = retryOf([asked, context.requests.retry], this.#state.retry);
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
    const { cluster, agent, pods, memory, nodeListTimer, times } = this.#context;
    const { synced, items } = pods.view;
    const { daemonSet: live } = this.#objects;
    const declared = daemonSet(agent, live);
    const observed = {
      objects: this.#objects,
      published: this.#published,
      target: this.#wanted,
      pods: items.values(),
      drift: synced ? await this.#drift(live, declared) : "none",
      retry: this.#retry,
    } as const;
    const facts = factsOf(this.#context, { ...observed, nodes: noNodes });
    if (!synced) {
      const actions = publishUnseen(facts);
      await this.#write(actions);
      this.#waits = facts.target.digest !== facts.secret?.digest;
      return actions.length > 0;
    }
    let decision = decide(facts, memory.grants, times());
    const { intent, revision } = this.#published ?? {};
    const isConfirmed = ({ terminationMessage: message }: AgentPod) =>
      message?.kind === "proved" && message.revision === revision;
    const listed = {
      confirmed: [...items.values()].filter(isConfirmed).length,
      missing: facts.desired - items.size,
    };
    if (intent !== "release") nodeListTimer.forget();
    const waits = intent === "release" ? nodeListTimer.waits(times().steady, listed) : 0;
    const readsOf = ({ reads }: Decision) => (waits > 0 ? { ...reads, all: false } : reads);
    // With these Nodes, the decision might need another Node. With all Nodes, it never needs more.
    for (let nodes = noNodes; lacksNodes(nodes, readsOf(decision));) {
      const all = { nodes: new Set<string>(), all: true };
      nodes = await readNodes(cluster, agent, nodes === noNodes ? readsOf(decision) : all);
      if (nodes.all && intent === "release") nodeListTimer.listed(times().steady, listed);
      decision = decide({ ...facts, nodes }, memory.grants, times());
    }
    if (waits > 0 && decision.reads.all)
      decision = { ...decision, again: Math.min(decision.again, waits) };
    this.#decision = decision;
    memory.view = { view: decision.view, revision: this.#published?.revision ?? 0 };
    memory.grants = decision.memory;
    await this.#write(decision.actions);
    return decision.actions.some((action) => !isPodAction(action) && action.kind !== "complete");
  }

  progress(): Progress {
    const { pods, repairs, times } = this.#context;
    const { status, metadata } = this.#objects.daemonSet ?? {};
    const {
      desiredNumberScheduled = 0,
      numberAvailable = 0,
      observedGeneration = 0,
    } = status ?? {};
    const published = this.#published;
    const served = published?.served;
    return {
      view: this.#decision?.view ?? this.#lastView(),
      revision: published?.revision ?? 0,
      served: served === undefined || served === "nothing" ? 0 : served.revision,
      intent: published?.intent === "release" ? "release" : "apply",
      publishedAt: published?.publishedAt ?? 0,
      now: this.#context.times().api,
      ended: this.#ended,
      completed: this.#completed,
      state: this.#state,
      desired: desiredNumberScheduled,
      isCounted: metadata?.generation !== undefined && observedGeneration >= metadata.generation,
      available: numberAvailable,
      pods: [...pods.view.items.values()],
      failure: repairs.failure ?? pods.view.failure,
      again: Math.min(this.#decision?.again ?? 1, repairs.again(times().steady)),
      global: this.#objects.global,
      stateSecret: this.#objects.state,
    };
  }

  /**
   * The last view before the watch of the pods ended. If other content is wanted, the view reports
   * that this content waits, because the controller cannot roll it out before it can read the pods
   * again.
   */
  #lastView(): View | undefined {
    const { view: last } = this.#context.memory;
    if (last === undefined || last.revision !== this.#published?.revision) return undefined;
    return this.#waits ? { ...last.view, pending: "places" } : last.view;
  }

  async #write(actions: readonly Action[]): Promise<void> {
    const rest = [...actions];
    try {
      for (let next = rest.shift(); next !== undefined; next = rest.shift()) {
        if (!isPodAction(next)) {
          await this.#writeObject(next);
          continue;
        }
        const end = rest.findIndex((action) => !isPodAction(action));
        const others = rest.splice(0, end === -1 ? rest.length : end).filter(isPodAction);
        const several = [next, ...others];
        if (several.some(({ kind }) => kind === "grant")) await this.#noteRolled(true);
        await writePods(this.#context, several);
      }
    } catch (error) {
      forgetUnsent(this.#context, rest.filter(isPodAction));
      throw error;
    }
  }

  async #writeObject(action: Exclude<Action, { pod: unknown }>): Promise<void> {
    const published = this.#published;
    switch (action.kind) {
      case "publish": {
        const served =
          action.served === "nothing" || published === undefined
            ? "nothing"
            : action.served === "newest"
              ? published
              : (published.served ?? "nothing");
        const { document, sources, intent } = this.#wanted;
        const { revision, mode } = action;
        await this.#declare({
          newest: { document, sources, intent, revision, salt: newSalt() },
          mode,
          served,
          publishedAt: this.#context.times().api,
        });
        return;
      }
      case "empty-served":
        return await this.#declare({ served: "nothing" });
      case "promote":
        await this.#declare({ served: published ?? "nothing" });
        this.#ended = this.#state.awaited < 0;
        return;
      case "save":
      case "halt":
        return await this.#save(action.state);
      case "write-template":
        return await this.#writeTemplate();
      case "complete":
        this.#completed = { isConfirmed: action.isConfirmed };
    }
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
      ...changes,
    });
    const { global } = this.#objects;
    if (global?.immutable === true) {
      // Someone made the Secret immutable. It must be deleted and created again.
      const { uid = "", resourceVersion } = global.metadata ?? {};
      await this.#context.cluster.remove(owned.global, uid, resourceVersion);
      this.#objects = { ...this.#objects, global: undefined };
    }
    const live = this.#objects.global;
    const written = await ensure<V1Secret>(this.#context, owned.global, live, declared);
    this.#objects = { ...this.#objects, global: written };
    this.#published = this.#read(written);
  }

  async #save(state: StateFacts): Promise<void> {
    const { cluster } = this.#context;
    const { revision, served } = this.#published ?? {};
    const isServed = served !== "nothing" && served?.revision === revision;
    const before = readState(this.#objects.state);
    const content = this.#published && contentHash(this.#published);
    const rollout = { ...state, content };
    const whole = { ...before, rollout };
    const written = await writeState(cluster, this.#objects.state, whole);
    this.#objects = { ...this.#objects, state: written };
    if (isServed && this.#state.awaited >= 0 && state.awaited < 0) this.#ended = true;
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
  async #drift(live: V1DaemonSet | undefined, declared: V1DaemonSet): Promise<Drift> {
    const { repairs, times } = this.#context;
    if (live === undefined) return "none";
    const dryRun = () => isDrifted(this.#context, live, declared);
    const isOther = await repairs.attempt("daemonSet", times().steady, dryRun);
    return isOther === undefined ? "refused" : isOther ? "some" : "none";
  }

  /** Records whether content might have reached a node. */
  async #noteRolled(rolled: boolean): Promise<void> {
    const { global } = this.#objects;
    if (global === undefined) return;
    const notes = recall(global);
    if (notes.rolled === rolled) return;
    const written = await remember(this.#context.cluster, global, { ...notes, rolled });
    this.#objects = { ...this.#objects, global: written };
  }

  async #writeTemplate(): Promise<void> {
    const { agent } = this.#context;
    await this.#writeAccess();
    const { daemonSet: live } = this.#objects;
    const { rollout } = readState(this.#objects.state);
    // On first install, no content can have reached a node. If the note is missing later, it was
    // lost, and content might have reached a node.
    const isFirst = live === undefined && rollout === undefined;
    if (recall(this.#objects.global).rolled === undefined) await this.#noteRolled(!isFirst);
    // The state is written before the DaemonSet, so that a removal waits for the nodes even if
    // someone deletes all other objects.
    if (rollout === undefined) await this.#save(this.#state);
    const written = await this.#repaired("daemonSet", live, daemonSet(agent, live));
    this.#objects = { ...this.#objects, daemonSet: written };
  }
}

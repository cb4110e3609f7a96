/**
 * One step towards every node having what is wanted: look, decide, write, until a decision has
 * nothing more to write. Writes Secret, ServiceAccount, Role, RoleBinding and DaemonSet, in this
 * order, and grants to the agents' pods.
 */
import type { KubernetesObject, V1DaemonSet, V1Secret } from "@kubernetes/client-node";
import { retryAnnotation } from "#contract/names.ts";
import type { Action, Decision, View } from "#controller/grants/decision.ts";
import { decide } from "#controller/grants/decide.ts";
import { publishUnseen } from "#controller/grants/publish.ts";
import type { StateFacts } from "#controller/grants/facts.ts";
import { daemonSet } from "#controller/objects/daemonset/daemonset.ts";
import { recall, remember } from "#controller/objects/annotations.ts";
import {
  globalSecret,
  isEdited,
  newSalt,
  readPublished,
  type Declared,
  type Published,
} from "#controller/objects/global-secret.ts";
import { role, roleBinding, serviceAccount } from "#controller/objects/rbac.ts";
import { readState, writeState } from "#controller/objects/state.ts";
import type { WantedContent } from "#controller/sources/accept.ts";
import type { Snapshot } from "#controller/sources/read/snapshot.ts";
import { ensure, isDrifted } from "#kube/apply/ensure.ts";
import { owned } from "#kube/client/paths.ts";
import type { RolloutContext } from "./context.ts";
import { factsOf, type Seen } from "./facts.ts";
import { newDirectory } from "./kept-directory.ts";
import { lacks, noNodes, readNodes } from "./nodes.ts";
import type { AgentPod } from "./pods.ts";
import { contentHash, readRollout, retryOf } from "./state.ts";
import { forgetUnsent, isOfPod, writePods } from "./write.ts";

/** What became of the rollout in this step. */
export type Progress = Readonly<{
  /** Undefined until the agents' pods have been read for the first time. */
  view: View | undefined;
  /** Of global-pull-secret: its newest content, and what new nodes may take; 0: nothing. */
  revision: number;
  served: number;
  intent: "apply" | "release";
  /** When the newest content was published, seconds since 1970 by the API server's clock. */
  publishedAt: number;
  /** The time of this step by the same clock. */
  now: number;
  /** In this step the rollout of the newest content ended: no node is awaited any more. */
  ended: boolean;
  /** A withdrawal is over. `isConfirmed`: every node has given back, as far as they are known. */
  completed: Readonly<{ isConfirmed: boolean }> | undefined;
  state: StateFacts;
  /**
   * Nodes that should have an agent, and agents that are Ready, as the DaemonSet controller counts
   * them. `isCounted`: it has seen the present DaemonSet.
   */
  desired: number;
  isCounted: boolean;
  available: number;
  pods: readonly AgentPod[];
  /**
   * A write that was refused and that nothing waited for, or why the pods cannot be followed. It is
   * the same value until that is tried again.
   */
  failure: Error | undefined;
  /** Seconds until the next look; infinite: when something changes. */
  again: number;
  global: V1Secret | undefined;
  stateSecret: V1Secret | undefined;
}>;

/**
 * Decisions in one step: a publication, its grants, and what these allow. More would only delay
 * status and Events.
 */
const mostDecisions = 4;

export async function takeStep(
  context: RolloutContext,
  found: Snapshot,
  wanted: WantedContent,
): Promise<Progress> {
  const step = new Step(context, found, wanted);
  await step.repair();
  for (let round = 0; round < mostDecisions; round += 1) if (!(await step.advance())) break;
  return step.progress();
}

type Drift = Seen["drift"];

class Step {
  readonly #context: RolloutContext;
  readonly #wanted: WantedContent;
  readonly #retry: string;
  #objects: Snapshot;
  #published: Published | undefined;
  #decision: Decision | undefined;
  #state: StateFacts;
  #ended = false;
  /** Something else is wanted than what is published, and the pods are not known. */
  #waits = false;
  #completed: Progress["completed"];

  constructor(context: RolloutContext, found: Snapshot, wanted: WantedContent) {
    this.#context = context;
    this.#wanted = wanted;
    this.#objects = found;
    this.#published = this.#read(found.global);
    this.#state = readRollout(readState(found.state).rollout);
    const { [retryAnnotation]: asked = "" } = found.additional?.metadata?.annotations ?? {};
    this.#retry = retryOf([asked, context.wishes.retry], this.#state.retry);
  }

  /** Brings what exists back to what was declared, whatever is decided next. */
  async repair(): Promise<void> {
    const { global, daemonSet: live } = this.#objects;
    // To write an edited one as it is would make it ours; it is published again instead.
    if (this.#published !== undefined && !isEdited(global)) await this.#declare({});
    if (live !== undefined) await this.#writeAccess();
  }

  /** Decides once and writes that. True if another decision may follow at once. */
  async advance(): Promise<boolean> {
    const { cluster, agent, pods, memory, listings, times } = this.#context;
    const { synced, items } = pods.view;
    const { daemonSet: live } = this.#objects;
    const declared = daemonSet(agent, live);
    const seen = {
      objects: this.#objects,
      published: this.#published,
      wanted: this.#wanted,
      pods: items.values(),
      drift: synced ? await this.#drift(live, declared) : "none",
      retry: this.#retry,
    } as const;
    const facts = factsOf(this.#context, { ...seen, nodes: noNodes });
    if (!synced) {
      const actions = publishUnseen(facts);
      await this.#write(actions);
      this.#waits = facts.wanted.digest !== facts.secret?.digest;
      return actions.length > 0;
    }
    let decision = decide(facts, memory.grants, times());
    const { intent, revision } = this.#published ?? {};
    const isConfirmed = ({ word }: AgentPod) =>
      word?.kind === "proved" && word.revision === revision;
    const listed = {
      confirmed: [...items.values()].filter(isConfirmed).length,
      missing: facts.desired - items.size,
    };
    if (intent !== "release") listings.forget();
    const waits = intent === "release" ? listings.waits(times().steady, listed) : 0;
    const readsOf = ({ reads }: Decision) => (waits > 0 ? { ...reads, all: false } : reads);
    // What is read may show that another Node is needed. All of them are always enough.
    for (let nodes = noNodes; lacks(nodes, readsOf(decision));) {
      const all = { nodes: new Set<string>(), all: true };
      nodes = await readNodes(cluster, agent, nodes === noNodes ? readsOf(decision) : all);
      if (nodes.all && intent === "release") listings.listed(times().steady, listed);
      decision = decide({ ...facts, nodes }, memory.grants, times());
    }
    if (waits > 0 && decision.reads.all)
      decision = { ...decision, again: Math.min(decision.again, waits) };
    this.#decision = decision;
    memory.view = { view: decision.view, revision: this.#published?.revision ?? 0 };
    memory.grants = decision.memory;
    await this.#noteDirectory();
    await this.#write(decision.actions);
    return decision.actions.some((action) => !isOfPod(action) && action.kind !== "complete");
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

  /** The view before the pods were lost, with a change that waits until they are known again. */
  #lastView(): View | undefined {
    const { view: last } = this.#context.memory;
    if (last === undefined || last.revision !== this.#published?.revision) return undefined;
    return this.#waits ? { ...last.view, pending: "places" } : last.view;
  }

  async #write(actions: readonly Action[]): Promise<void> {
    const rest = [...actions];
    try {
      for (let next = rest.shift(); next !== undefined; next = rest.shift()) {
        if (!isOfPod(next)) {
          await this.#writeObject(next);
          continue;
        }
        const end = rest.findIndex((one) => !isOfPod(one));
        const others = rest.splice(0, end === -1 ? rest.length : end).filter(isOfPod);
        const several = [next, ...others];
        if (several.some(({ kind }) => kind === "grant")) await this.#noteRolled(true);
        await writePods(this.#context, several);
      }
    } catch (error) {
      forgetUnsent(this.#context, rest.filter(isOfPod));
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
   * The Secret. Where the time of its publication is unknown or lies in the future, that is now: a
   * withdrawal's end is counted from it.
   */
  #read(secret: V1Secret | undefined): Published | undefined {
    const published = readPublished(secret);
    const now = this.#context.times().api;
    const isKnown = published !== undefined && published.publishedAt > 0;
    if (published === undefined || (isKnown && published.publishedAt <= now)) return published;
    return { ...published, publishedAt: now };
  }

  /** Writes the Secret as it is, with these changes. */
  async #declare(changes: Partial<Declared>): Promise<void> {
    const { agent } = this.#context;
    const before = this.#published;
    const newest = changes.newest ?? before;
    if (newest === undefined) throw new Error("nothing is published");
    const declared = globalSecret({
      newest,
      mode: before?.mode ?? agent.delivery.mode,
      served: before?.served ?? this.#servedBefore(),
      publishedAt: before?.publishedAt ?? 0,
      ...changes,
    });
    const { global } = this.#objects;
    if (global?.immutable === true) {
      // Somebody made it immutable, which no apply can undo.
      const { uid = "", resourceVersion } = global.metadata ?? {};
      await this.#context.cluster.remove(owned.global, uid, resourceVersion);
      this.#objects = { ...this.#objects, global: undefined };
    }
    const live = this.#objects.global;
    const written = await ensure<V1Secret>(this.#context, owned.global, live, declared);
    this.#objects = { ...this.#objects, global: written };
    this.#published = this.#read(written);
  }

  /** Until 0.2 the state told what every node had. */
  #servedBefore(): Declared["served"] {
    const { servedBefore } = readState(this.#objects.state);
    const published = this.#published;
    return published?.revision === servedBefore ? published : "nothing";
  }

  async #save(state: StateFacts): Promise<void> {
    const { cluster } = this.#context;
    const { revision, served } = this.#published ?? {};
    const isServed = served !== "nothing" && served?.revision === revision;
    const before = readState(this.#objects.state);
    const content = this.#published && contentHash(this.#published);
    const rollout = { ...state, content };
    const written = await writeState(cluster, this.#objects.state, { ...before, rollout });
    this.#objects = { ...this.#objects, state: written };
    if (isServed && this.#state.awaited >= 0 && state.awaited < 0) this.#ended = true;
    this.#state = state;
  }

  /** Records where content is in force, before anything may change that. */
  async #noteDirectory(): Promise<void> {
    const { cluster, memory, pods } = this.#context;
    const directory = newDirectory(this.#objects, pods.view.items.values(), memory.grants);
    if (directory === undefined) return;
    const { state: live } = this.#objects;
    const state = await writeState(cluster, live, { ...readState(live), directory });
    this.#objects = { ...this.#objects, state };
  }

  /** A refusal of one of these objects keeps none of the others from being written. */
  async #writeAccess(): Promise<void> {
    const { serviceAccount: account, role: rights, roleBinding: binding } = this.#objects;
    this.#objects = {
      ...this.#objects,
      serviceAccount: await this.#repaired("serviceAccount", account, serviceAccount),
      role: await this.#repaired("role", rights, role),
      roleBinding: await this.#repaired("roleBinding", binding, roleBinding),
    };
  }

  /** The object as it is after it was brought to what is declared, or as it was if that failed. */
  async #repaired<T extends KubernetesObject>(
    name: "serviceAccount" | "role" | "roleBinding" | "daemonSet",
    live: T | undefined,
    declared: T,
  ): Promise<T | undefined> {
    const { repairs, times } = this.#context;
    const write = () => ensure<T>(this.#context, owned[name], live, declared);
    return (await repairs.attempt(name, times().steady, write)) ?? live;
  }

  /** Whether the DaemonSet has drifted, as long as the API server lets us write it. */
  async #drift(live: V1DaemonSet | undefined, declared: V1DaemonSet): Promise<Drift> {
    const { repairs, times } = this.#context;
    if (live === undefined) return "none";
    const dryRun = () => isDrifted(this.#context, live, declared);
    const isOther = await repairs.attempt("daemonSet", times().steady, dryRun);
    return isOther === undefined ? "refused" : isOther ? "some" : "none";
  }

  /** Notes whether something may have reached a node. */
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
    const { rollout, servedBefore } = readState(this.#objects.state);
    // On a first installation nothing can have reached a node. Otherwise a lost note may have said
    // that something did.
    const isFirst = live === undefined && rollout === undefined && servedBefore === 0;
    if (recall(this.#objects.global).rolled === undefined) await this.#noteRolled(!isFirst);
    // Written before the DaemonSet: a removal must ask the nodes even if only the state is left.
    if (rollout === undefined) await this.#save(this.#state);
    const written = await this.#repaired("daemonSet", live, daemonSet(agent, live));
    this.#objects = { ...this.#objects, daemonSet: written };
  }
}

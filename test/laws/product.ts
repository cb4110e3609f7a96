/**
 * The adapter: shows the world to the product's decision, and executes what it decides. This is the
 * only file of the laws that calls product code.
 */
import { decide } from "#controller/rollout/decide.ts";
import {
  stateOf,
  type Action,
  type Decision,
  type NodeFacts,
  type ObjectFacts,
  type PodFacts,
  type Snapshot,
  type StateFacts,
} from "#controller/rollout/facts.ts";
import { lag } from "./events.ts";
import {
  between,
  chance,
  log,
  nothing,
  nowOf,
  only,
  wantedContent,
  withoutRemoved,
  type Content,
  type DaemonSet,
  type Mode,
  type Node,
  type NodeObject,
  type Pod,
  type Secret,
  type World,
} from "./world.ts";

/** Changes a decision, so that a test can show that a law can fail. */
export type Rewrite = (decision: Decision, snapshot: Snapshot) => Decision;

/** What the controller keeps in its state Secret. */
type StoredState = Readonly<{ facts: StateFacts; publishedContent: Content }>;

class Killed extends Error {}
class Refused extends Error {}

/** What the controller has read, each from its own watch. */
type Read = Readonly<{
  secret: Secret | undefined;
  state: Readonly<{ version: number; value: StoredState }> | undefined;
  daemonSet: DaemonSet | undefined;
  nodes: ReadonlyMap<string, Node>;
  pods: ReadonlyMap<string, readonly Pod[]>;
  objects: ReadonlyMap<string, NodeObject>;
}>;

/** A Node's UID in the product: the digits in reverse, because a real UID does not show an age. */
const uidOf = (uid: number): string => [...String(uid).padStart(8, "0")].toReversed().join("");
const numberOf = (uid: string): number => Number([...uid].toReversed().join(""));

const noState: StateFacts = stateOf(0, 0, { retry: "", bucketUntil: 0, served: false });

function podFacts(pod: Pod, template: number | undefined): PodFacts {
  const { uid, created, isDeleting, isRunning, readySince, isUnreachable } = pod;
  return {
    uid: String(uid),
    created,
    isDeleting,
    isCurrent: pod.template.id === template,
    mode: pod.template.mode,
    isRunning,
    readySince,
    isUnreachable,
    waitingReason: isRunning ? undefined : "CrashLoopBackOff",
  };
}

function objectFacts({ uid, version, order, report }: NodeObject): ObjectFacts {
  const withDigest = <T extends { content: Content }>(part: T) => ({
    ...part,
    digest: part.content,
  });
  return {
    uid: String(uid),
    resourceVersion: String(version),
    isDeleting: false,
    order: order && withDigest(order),
    report: report && {
      ...withDigest(report),
      code: report.result === "Refused" ? "GPS201" : "GPS100",
      message: "",
      version: "1.0.0",
      time: report.since,
    },
  };
}

export class Product {
  readonly #world: World;
  readonly #rewrite: Rewrite | undefined;
  /** Facts of Nodes whose objects have not changed. */
  readonly #facts = new Map<string, readonly [unknown, unknown, unknown, unknown, NodeFacts]>();
  #process = 0;
  #seen = "";
  #dueAt = 0;
  decisions = 0;

  constructor(world: World, rewrite?: Rewrite) {
    this.#world = world;
    this.#rewrite = rewrite;
  }

  /** Runs the controller for a second. Returns whether it runs, and all its requests succeeded. */
  tick(): boolean {
    const world = this.#world;
    const { controller, t } = world;
    if (t < controller.startsAt) return false;
    if (this.#process !== controller.id) {
      this.#process = controller.id;
      this.#seen = "";
      // A new process can read from a server that lags behind.
      if (chance(world, 0.3)) lag(world, between(world, 0, 10));
    }
    if (t >= controller.lagUntil) controller.lag = { core: 0, pods: 0, objects: 0, nodes: 0 };
    const isLagging = t < controller.lagUntil;
    if (!isLagging && t < this.#dueAt && this.#seen === this.#visible()) return true;
    this.#seen = isLagging ? "" : this.#visible();
    try {
      this.#decide();
      return !isLagging;
    } catch (error) {
      this.#seen = "";
      if (error instanceof Refused) return false;
      if (!(error instanceof Killed)) throw error;
      log(world, () => "the controller is killed");
      controller.startsAt = t + between(world, 1, 30);
      controller.id += 1;
      controller.writesLeft = -1;
      return false;
    }
  }

  /** A text that differs if anything differs that the controller can see. */
  #visible(): string {
    const world = this.#world;
    const { secrets, states, daemonSets, nodes, pods, objects, policy, t } = world;
    const versions = [secrets, states, daemonSets, nodes, pods, objects].map(
      (store) => store.version,
    );
    const holds = [t < world.pausedUntil, t < world.unguardedUntil, world.retries, world.clock];
    const wishes = [wantedContent(world), world.template.id, policy.maxUnavailable];
    return [...versions, ...holds, ...wishes].join(" ");
  }

  #read(): Read {
    const { secrets, states, daemonSets, nodes, pods, objects, controller, t } = this.#world;
    const { lag, id } = controller;
    const state = states.asOf(t, lag.core, id).get(only);
    return {
      secret: secrets.asOf(t, lag.core, id).get(only),
      state: state as Read["state"],
      daemonSet: daemonSets.asOf(t, lag.core, id).get(only),
      nodes: nodes.asOf(t, lag.nodes, id),
      pods: pods.asOf(t, lag.pods, id),
      objects: objects.asOf(t, lag.objects, id),
    };
  }

  #nodeFacts(node: Node, read: Read): NodeFacts {
    const { name, created, isControlPlane } = node;
    const pods = read.pods.get(name);
    const object = read.objects.get(name);
    const template = read.daemonSet?.template.id;
    const last = this.#facts.get(name);
    if (last?.[0] === node && last[1] === pods && last[2] === object && last[3] === template)
      return last[4];
    const pod = pods?.findLast(({ isDeleting }) => !isDeleting) ?? pods?.at(-1);
    const facts: NodeFacts = {
      name,
      uid: uidOf(node.uid),
      created,
      isControlPlane,
      pod: pod && podFacts(pod, template),
      object: object?.owner === node.uid ? objectFacts(object) : undefined,
      isRefused: false,
    };
    this.#facts.set(name, [node, pods, object, template, facts]);
    return facts;
  }

  #snapshot(read: Read): Snapshot {
    const world = this.#world;
    const { secret, state, daemonSet, nodes, objects } = read;
    const { t, policy, template } = world;
    const target = wantedContent(world);
    const removes =
      secret !== undefined &&
      (withoutRemoved(secret.content, target) !== secret.content ||
        withoutRemoved(secret.servedContent, target) !== secret.servedContent);
    const orphans = [...objects.values()].filter(
      ({ name, owner }) => nodes.get(name)?.uid !== owner,
    );
    return {
      now: nowOf(world),
      secret: secret && {
        ...secret,
        digest: secret.content,
        intent: secret.content === nothing ? "release" : "apply",
      },
      state: state?.value.facts ?? noState,
      template: daemonSet && {
        isCurrent: daemonSet.template.id === template.id,
        mode: daemonSet.template.mode,
        maxUnavailable: daemonSet.maxUnavailable,
      },
      nodes: [...nodes.values()].map((node) => this.#nodeFacts(node, read)),
      orphans: orphans.map((object) => ({
        name: object.name,
        uid: uidOf(object.owner),
        object: objectFacts(object),
      })),
      target: {
        intent: target === nothing ? "release" : "apply",
        digest: target,
        isKnown: state?.value.publishedContent === target,
        mode: template.mode,
        removes,
      },
      policy,
      isPaused: t < world.pausedUntil,
      isGuarded: t >= world.unguardedUntil,
      retry: world.retries === 0 ? "" : String(world.retries),
    };
  }

  #decide(): void {
    const world = this.#world;
    const read = this.#read();
    const isInstalled = read.secret ?? read.state ?? read.daemonSet;
    this.#dueAt = Infinity;
    if (isInstalled === undefined && wantedContent(world) === nothing) return;
    const snapshot = this.#snapshot(read);
    const original = decide(snapshot);
    const decision = this.#rewrite?.(original, snapshot) ?? original;
    this.decisions += 1;
    this.#dueAt = world.t + Math.max(1, Math.ceil(decision.again));
    const { isReady, halt, current } = decision.view;
    world.observer.claimed({ isReady, haltedBy: halt?.by, current });
    log(
      world,
      () =>
        `view: ${decision.view.waiting.map(({ node, reason }) => `${node} ${reason}`).join(", ")}`,
    );
    const versions = {
      secret: read.secret?.version,
      state: read.state?.version,
      daemonSet: read.daemonSet?.version,
    };
    for (const action of decision.actions) this.#execute(action, read, versions);
  }

  /**
   * A write that depends on the version that was read. A controller can be killed at each write.
   */
  #write(live: number | undefined, read: number | undefined, change: () => void): void {
    const { controller, t } = this.#world;
    if (controller.writesLeft === 0 && !controller.killsAfterWrite) throw new Killed();
    if (live !== read) throw new Refused();
    change();
    if (controller.writesLeft === 0) throw new Killed();
    if (controller.writesLeft > 0) controller.writesLeft -= 1;
    if (t < controller.losesAnswersUntil) throw new Refused();
  }

  #execute(
    action: Action,
    read: Read,
    versions: {
      secret: number | undefined;
      state: number | undefined;
      daemonSet: number | undefined;
    },
  ): void {
    const world = this.#world;
    const { secrets, states, daemonSets, controller, t } = world;
    const version = () => ++world.ids;
    const secret = secrets.get(only);
    log(world, () => `the controller: ${describe(action)}`);
    switch (action.kind) {
      case "publish": {
        const published = publish(world, action, secret, version());
        this.#write(secret?.version, versions.secret, () => {
          secrets.set(t, only, published, controller.id);
          world.observer.published(secret, published);
        });
        versions.secret = published.version;
        return;
      }
      case "save": {
        const before = states.get(only);
        const facts = action.state;
        const last = before?.value as StoredState | undefined;
        const isPublished = secret !== undefined && facts.revision === secret.revision;
        const publishedContent = isPublished ? secret.content : (last?.publishedContent ?? "");
        const state = { version: version(), value: { facts, publishedContent } };
        this.#write(before?.version, versions.state, () => {
          states.set(t, only, state, controller.id);
          world.observer.recorded(facts.asked.map(numberOf));
        });
        versions.state = state.version;
        return;
      }
      case "promote":
        if (secret === undefined) throw new Refused();
        return this.#write(secret.version, versions.secret, () => {
          const { revision, content } = secret;
          const promoted = { ...secret, served: revision, servedContent: content };
          secrets.set(t, only, { ...promoted, version: version() }, controller.id);
          world.observer.promoted(secret);
          versions.secret = secrets.get(only)?.version;
        });
      case "write-template": {
        const { maxUnavailable } = action;
        const daemonSet = { version: version(), template: world.template, maxUnavailable };
        this.#write(daemonSets.get(only)?.version, versions.daemonSet, () => {
          daemonSets.set(t, only, daemonSet, controller.id);
        });
        versions.daemonSet = daemonSet.version;
        return;
      }
      case "delete":
        return this.#tolerate(() => this.#delete(action.node.name, read));
      case "create":
        return this.#tolerate(() => this.#create(action.node));
      case "ask":
        return this.#tolerate(() => this.#ask(action, read));
      case "complete":
        return this.#complete(action.leftBehind);
    }
  }

  /** A refused write of one node's object does not stop the others. */
  #tolerate(write: () => void): void {
    try {
      write();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.#dueAt = this.#world.t + 1;
    }
  }

  #create({ name, uid }: NodeFacts): void {
    const world = this.#world;
    const version = ++world.ids;
    const object = {
      name,
      uid: version,
      owner: numberOf(uid),
      version,
      order: undefined,
      report: undefined,
    };
    this.#write(world.objects.get(name)?.version, undefined, () => {
      world.objects.set(world.t, name, object, world.controller.id);
      if (world.nodes.get(name)?.uid !== object.owner) world.leaving.add(name);
    });
  }

  #delete(name: string, read: Read): void {
    const { objects, machines, t, controller, observer } = this.#world;
    const object = objects.get(name);
    if (object === undefined) throw new Refused();
    this.#write(object.version, read.objects.get(name)?.version, () => {
      objects.set(t, name, undefined, controller.id);
      // The object of a present Node asks for no other try, because no person has deleted it.
      if (machines.get(name)?.uid !== object.owner) observer.objectGone(object);
    });
  }

  #ask({ node, order }: Extract<Action, { kind: "ask" }>, read: Read): void {
    const world = this.#world;
    const { objects, t, controller } = world;
    const object = objects.get(node.name);
    if (object === undefined) throw new Refused();
    const { revision, digest, attempt } = order;
    const asked = { revision, content: digest, attempt };
    this.#write(object.version, read.objects.get(node.name)?.version, () => {
      const version = ++world.ids;
      objects.set(t, node.name, { ...object, version, order: asked }, controller.id);
      world.observer.asked(object, asked);
    });
  }

  /** Everything is deleted, in this order, except the objects of nodes that were left behind. */
  #complete(leftBehind: readonly string[]): void {
    const world = this.#world;
    const { t, controller, objects, daemonSets, secrets, states } = world;
    const id = controller.id;
    this.#write(0, 0, () => {
      world.observer.completed(leftBehind);
      daemonSets.set(t, only, undefined, id);
    });
    for (const name of objects.live.keys())
      if (!leftBehind.includes(name)) objects.set(t, name, undefined, id);
    this.#write(0, 0, () => secrets.set(t, only, undefined, id));
    this.#write(0, 0, () => {
      states.set(t, only, undefined, id);
      world.observer.forgotten();
    });
  }
}

/** The Secret after a publication. Removed registries leave the served slot in the same write. */
function publish(
  world: World,
  { revision, mode, served }: Extract<Action, { kind: "publish" }>,
  before: Secret | undefined,
  version: number,
): Secret {
  const content = wantedContent(world);
  const slot = {
    nothing: { served: 0, servedContent: nothing },
    same: { served: before?.served ?? 0, servedContent: before?.servedContent ?? nothing },
    newest: { served: before?.revision ?? 0, servedContent: before?.content ?? nothing },
  }[served];
  const servedContent = withoutRemoved(slot.servedContent, content);
  const publishedAt = nowOf(world);
  return {
    version,
    revision,
    content,
    mode: mode as Mode,
    served: slot.served,
    servedContent,
    publishedAt,
  };
}

function describe(action: Action): string {
  switch (action.kind) {
    case "publish":
      return `publishes ${action.revision} in mode ${action.mode}, served: ${action.served}`;
    case "save":
      return `saves ${JSON.stringify(action.state)}`;
    case "write-template":
      return `writes the template, maxUnavailable ${action.maxUnavailable}`;
    case "delete":
      return `deletes the object of the former ${action.node.name}`;
    case "create":
      return `creates the object of ${action.node.name}`;
    case "ask":
      return `asks ${action.node.name} for ${action.order.revision} (${action.order.digest})`;
    case "complete":
      return `ends the withdrawal, left behind: ${action.leftBehind.join(" ")}`;
    case "promote":
      return "promotes";
  }
}

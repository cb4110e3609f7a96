/** The laws about events: each is judged in the moment in which something happens. */
import {
  fail,
  guardOf,
  limitOf,
  lostOf,
  newTruth,
  noteClock,
  noteJump,
  reactionSeconds,
  type Asked,
  type Truth,
  usualTime,
} from "./truth.ts";
import {
  isNotReady,
  isOnline,
  isPart,
  nothing,
  only,
  withoutRemoved,
  type Change,
  type Claim,
  type Content,
  type Machine,
  type NodeObject,
  type Observer,
  type Order,
  type Report,
  type Secret,
  type Template,
  type World,
} from "./world.ts";

export class Laws implements Observer {
  readonly truth: Truth;
  readonly #world: World;
  /** How often orders of a content have restarted a Node's kubelet, by the Node's uid. */
  readonly #restarts = new Map<
    number,
    Readonly<{ revision: number; content: Content; count: number }>
  >();
  /** The Nodes whose available agent was replaced by an agent of this template, since when. */
  readonly #replaced = new Map<number, Readonly<{ names: Set<string>; since: number }>>();
  /** When NotReady Nodes were deleted or returned. Each had raised the update's budget by one. */
  readonly #endedNotReady: number[] = [];
  /** The Nodes that the controller has recorded as asked. */
  #recorded: ReadonlySet<number> = new Set();
  /** The newest revision since the installation. */
  #newest = 0;

  constructor(world: World) {
    this.#world = world;
    this.truth = newTruth(world);
  }

  published(before: Secret | undefined, secret: Secret): void {
    const { t, retries } = this.#world;
    const { histories, jumps, removedSince } = this.truth;
    const { content, revision } = secret;
    const isRepeated = revision === this.#newest && histories.get(revision)?.content === content;
    // If the clock was set back, and the Secret deleted before its revision was saved, nobody knows
    // this revision any more.
    const isUnknown = jumps > 0 && before === undefined;
    if (revision <= this.#newest && isUnknown) this.truth.isBehind = true;
    else if (revision <= this.#newest && !isRepeated)
      fail("back", `revision ${revision} follows ${this.#newest}`);
    this.#newest = revision;
    if (revision < Math.max(0, ...histories.keys())) this.truth.isBehind = true;
    const [proved, broken, failed] = [new Set<number>(), new Set<number>(), new Set<number>()];
    histories.set(revision, { content, proved, broken, failed, retries, jumps });
    this.truth.publishedAt.push(t);
    for (const [index, value] of content.split("-").entries())
      removedSince[index] = value === "0" ? (removedSince[index] ?? t) : undefined;
    const old = before?.content ?? content;
    if (content !== old && withoutRemoved(old, content) === old) this.#countPublication(t);
  }

  /** A bucket of six, into which one comes back every ten minutes. */
  #countPublication(t: number): void {
    const { publications, jumpedAt } = this.truth;
    publications.push(t);
    for (const [index, time] of publications.entries()) {
      if (time <= jumpedAt) continue;
      const count = publications.length - index;
      if (count > 6 + Math.ceil((t - time) / 600))
        fail("budget", `${count} publications in ${t - time} s`);
    }
  }

  promoted({ content }: Secret): void {
    if (!this.#isProved(content)) fail("join", `${content} is served and nobody has proved it`);
  }

  /** Whether a node has run its kubelet with this content, or with more. */
  #isProved(content: Content): boolean {
    const { provedContents } = this.truth;
    return (
      provedContents.has(content) || [...provedContents].some((whole) => isPart(content, whole))
    );
  }

  recorded(uids: readonly number[]): void {
    this.#recorded = new Set(uids);
    // A controller that lags behind can record a Node that is gone.
    const present = new Set(Array.from(this.#world.machines.values(), ({ uid }) => uid));
    for (const uid of uids) if (!present.has(uid)) this.#assumeGone(uid);
  }

  asked({ name, owner }: NodeObject, { revision, content, attempt }: Order): void {
    const world = this.#world;
    const { t } = world;
    // An order of a release only marks the object of a node that is left behind.
    if (content !== nothing && (t < world.pausedUntil || t < world.unguardedUntil))
      fail("held", `asks ${name} while it may not`);
    const { asked, histories } = this.truth;
    const last = asked.get(owner);
    // Agents follow no older order, so an order of a controller that lags behind changes nothing.
    const canKnow = !this.truth.isBehind && t >= world.controller.lagUntil;
    if (last !== undefined && revision < last.revision && canKnow)
      fail("back", `asks ${name} for ${revision} after ${last.revision}`);
    if (histories.get(revision)?.content !== content)
      fail("back", `asks ${name} for ${content}, which is not revision ${revision}`);
    // A controller that lags behind can ask a Node that is gone.
    const goneAt = world.machines.get(name)?.uid === owner ? undefined : t;
    asked.set(owner, { ...this.#askedNow({ revision, attempt }), goneAt });
  }

  reported({ owner }: NodeObject, { revision, attempt, result }: Report): void {
    const asked = this.truth.asked.get(owner);
    if (asked === undefined) return;
    const isAnswer = attempt === asked.attempt;
    if (!isAnswer && !(result === "Proved" && revision === asked.revision)) return;
    if (asked.goneAt !== undefined && this.#isUnseen()) return;
    asked.answeredAt ??= this.#world.t;
    if (isAnswer && result === "Failed") this.truth.histories.get(revision)?.failed.add(owner);
  }

  /**
   * No controller might see or believe the answer of a node that disappears while none runs, or
   * while the admission policy is missing.
   */
  #isUnseen(): boolean {
    const { t, controller, unguardedUntil } = this.#world;
    return Math.max(controller.startsAt, unguardedUntil) > t;
  }

  notReadyEnded(): void {
    this.#endedNotReady.push(this.#world.t);
  }

  nodeGone(machine: Machine): void {
    if (isNotReady(machine)) this.notReadyEnded();
    this.#assumeGone(machine.uid);
  }

  /** A controller that was killed cannot know whether it has asked a node that it has recorded. */
  #assumeGone(uid: number): void {
    const { asked } = this.truth;
    if (this.#recorded.has(uid) && asked.get(uid)?.revision !== this.#newest)
      asked.set(uid, this.#askedNow({ revision: this.#newest, attempt: 0 }));
    const last = asked.get(uid);
    if (last === undefined) return;
    last.goneAt ??= this.#world.t;
    if (this.#isUnseen()) last.answeredAt = undefined;
  }

  #askedNow({ revision, attempt }: Pick<Order, "revision" | "attempt">): Asked {
    return {
      revision,
      attempt,
      at: this.#world.t,
      usualSeconds: usualTime(this.#world),
      answeredAt: undefined,
      goneAt: undefined,
    };
  }

  /** Notices a node that vanished, Node and object, before a controller could see what it lost. */
  objectGone({ name, owner }: NodeObject): void {
    // A new object begins anew: a person asks for another try, or the Node was registered again.
    const machine = this.#world.machines.get(name);
    this.#restarts.delete(machine?.uid ?? owner);
    if (machine?.uid === owner) this.truth.dismissed.add(owner);
    const { t, controller } = this.#world;
    const asked = this.truth.asked.get(owner);
    if (asked === undefined || asked.answeredAt !== undefined) return;
    const goneAt = asked.goneAt ?? t;
    const couldSee =
      t - goneAt >= 3 && controller.startsAt < goneAt && controller.lagUntil < goneAt;
    if (!couldSee) this.truth.vanished += 1;
  }

  joined(machine: Machine, content: Content, source: Secret): void {
    const { t } = this.#world;
    const { name } = machine;
    if (!this.#isProved(content)) fail("join", `${name} joins with ${content}, which is unproved`);
    // The content of the volume can be 90 s old.
    const age = source === machine.secret ? reactionSeconds : 95;
    for (const [index, value] of content.split("-").entries()) {
      const since = this.truth.removedSince[index];
      // An agent that was frozen or offline acts before it has seen what happened meanwhile.
      const { frozenUntil, offlineUntil, agentOfflineUntil } = machine;
      const from = Math.max(since ?? t, frozenUntil, offlineUntil, agentOfflineUntil);
      if (value !== "0" && since !== undefined && t - from > age)
        fail("join", `${name} joins with ${content}, of which a part was removed before`);
    }
  }

  restarts({ uid, name }: Machine, change: Change): void {
    if (!change.isAsked || change.tries > 1) return;
    // Another restart is due if another program has overwritten the file during the change.
    if (change.placedAt > change.beganAt) return;
    const { revision, content } = change;
    const last = this.#restarts.get(uid);
    const isSame = last?.revision === revision && last.content === content;
    const count = isSame ? last.count + 1 : 1;
    this.#restarts.set(uid, { revision, content, count });
    const { retries = 0 } = this.truth.histories.get(change.revision) ?? {};
    // A person can delete the object during a change, and so ask for another try.
    const dismissals = Number(this.truth.dismissed.has(uid));
    if (count > 1 + this.#world.retries - retries + dismissals)
      fail("restart", `${name} restarts its kubelet ${count} times for ${change.revision}`);
  }

  broke({ name, uid }: Machine, { revision, content, isAsked }: Change): void {
    const history = this.truth.histories.get(revision);
    if (!isAsked || history === undefined) return;
    // The order was for the former Node of this name, and its object is not yet collected.
    if ((this.#world.objects.get(name)?.owner ?? uid) !== uid) return;
    history.broken.add(uid);
    // With the policy "all" every node is asked at once.
    if (this.truth.widest === Infinity) return;
    const limit = limitOf(this.#world, this.truth, revision, history);
    if (history.broken.size > limit)
      fail("break", `${content} broke ${history.broken.size} nodes, ${limit} are allowed`);
  }

  proved({ uid, disk }: Machine, content: Content): void {
    this.truth.provedContents.add(content);
    this.truth.histories.get(disk.journal?.revision ?? 0)?.proved.add(uid);
  }

  replaced(name: string, template: Template): void {
    noteClock(this.#world, this.truth);
    const first = { names: new Set<string>(), since: this.#world.t };
    const { names, since } = this.#replaced.get(template.id) ?? first;
    this.#replaced.set(template.id, { names: names.add(name), since });
    if (template.starts && template.life !== 10) return;
    // A jump of the clock makes the first pod of the template look old.
    if (template.id === this.truth.templateAtJump) return;
    const present = [...names].filter((node) => {
      const machine = this.#world.machines.get(node);
      return machine !== undefined && isOnline(this.#world, machine) && !isNotReady(machine);
    });
    const ended = this.#endedNotReady.filter((t) => t > since - reactionSeconds).length;
    if (present.length > 1 + ended)
      fail("upgrade", `an agent that dies has replaced ${present.join(" and ")}`);
  }

  completed(leftBehind: readonly string[]): void {
    // Nobody can know what is on a machine that joined after the release, or that has not reported
    // and joined with its former disk, or seems to be younger because the clock was set back, or
    // took the order of a former Node with its name while no controller ran.
    const { dismissed, publishedAt, jumps } = this.truth;
    const { publishedAt: stamped = 0 } = this.#world.secrets.get(only) ?? {};
    const releasedAt = publishedAt.at(-1) ?? 0;
    for (const machine of this.#world.machines.values()) {
      const { name, uid, disk } = machine;
      const object = this.#world.objects.get(name);
      const hasReported = object?.owner === uid && object.report !== undefined;
      const { created = 0 } = this.#world.nodes.get(name) ?? {};
      const seemsYounger = jumps > 0 && created > stamped;
      const isUnseen = machine.joinedAt < this.#world.controller.startsAt;
      const isUnknown = !hasReported && (machine.hasFormerDisk || seemsYounger || isUnseen);
      const isExcepted = machine.joinedAt > releasedAt || isUnknown || dismissed.has(uid);
      if (!isExcepted && disk.file !== nothing && !leftBehind.includes(name))
        fail("status", `${name} still has ${disk.file}, and is not left behind`);
    }
  }

  /** A new installation knows nothing about the former one. */
  forgotten(): void {
    this.#newest = 0;
    this.truth.publications = [];
    this.truth.publishedAt = [];
  }

  /** Nodes follow no older content, so they wait until the controller publishes it again. */
  restored(secret: Secret | undefined): void {
    const { truth } = this;
    const revision = secret?.revision ?? 0;
    this.#newest = revision;
    this.#restarts.clear();
    for (const [uid, asked] of truth.asked) if (asked.revision > revision) truth.asked.delete(uid);
    for (const [index, value] of (secret?.content ?? nothing).split("-").entries())
      truth.removedSince[index] = value === "0" ? this.#world.t : undefined;
    noteJump(this.#world, truth);
  }

  claimed({ isReady, haltedBy, current }: Claim): void {
    const { truth } = this;
    const world = this.#world;
    if (haltedBy !== undefined && truth.haltedBy === undefined) truth.halts += 1;
    Object.assign(truth, { isReady, haltedBy, current });
    noteClock(world, truth);
    const secret = world.secrets.get(only);
    const isUnclear =
      (truth.jumps > 0 && world.t - truth.jumpedAt < 800) ||
      // Without the admission policy, the controller believes no proof.
      world.t < Math.max(world.controller.lagUntil, world.unguardedUntil);
    if (haltedBy === undefined || secret === undefined || isUnclear) return;
    if (haltedBy === "failed") {
      const failed = truth.histories.get(secret.revision)?.failed.size ?? 0;
      if (failed <= world.policy.maxFailures) fail("halt", `${failed} nodes failed`);
      return;
    }
    const lost = lostOf(world, truth, secret.revision).length;
    const isProved = [...world.objects.live.values()].some(
      ({ report }) => report?.result === "Proved" && report.revision === secret.revision,
    );
    if (lost <= guardOf(isProved ? 1 : 0)) fail("halt", `${lost} nodes were silent`);
  }
}

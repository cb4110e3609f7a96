/** The laws about states: each is judged every second, and some states may last for a moment. */
import {
  fail,
  guardOf,
  hasNewest,
  noteClock,
  placesOf,
  reactionSeconds,
  usualTime,
  widthOf,
  type Truth,
} from "./truth.ts";
import {
  isNotReady,
  nothing,
  nowOf,
  only,
  podOf,
  wantedContent,
  withoutRemoved,
  type Machine,
  type Secret,
  type World,
} from "./world.ts";

export class Seconds {
  readonly #world: World;
  readonly #truth: Truth;
  /** For how many seconds a state has lasted, by its name. */
  readonly #lasting = new Map<string, number>();

  constructor(world: World, truth: Truth) {
    this.#world = world;
    this.#truth = truth;
  }

  /** `isRunning`: the controller runs, and no request of it failed. */
  judge(isRunning: boolean): void {
    const world = this.#world;
    const truth = this.#truth;
    noteClock(world, truth);
    truth.widest = Math.max(truth.widest, widthOf(world));
    const secret = world.secrets.get(only);
    this.#judgePublication(isRunning, secret);
    if (secret === undefined) return;
    if (!truth.isBehind) this.#judgeRemoval(secret);
    this.#judgeWindow();
    this.#judgeStatus(isRunning, secret);
    this.#judgeDelay(isRunning, secret);
  }

  /** Counts the seconds of a state. True if it has lasted for more than `seconds`. */
  #lasts(name: string, isSo: boolean, seconds = reactionSeconds): boolean {
    if (!isSo) {
      if (this.#lasting.size > 0) this.#lasting.delete(name);
      return false;
    }
    const lasted = (this.#lasting.get(name) ?? 0) + 1;
    this.#lasting.set(name, lasted);
    return lasted > seconds;
  }

  #judgePublication(isRunning: boolean, secret: Secret | undefined): void {
    const world = this.#world;
    const { t, policy } = world;
    const wanted = wantedContent(world);
    const content = secret?.content ?? nothing;
    const isDue = isRunning && t >= world.pausedUntil && wanted !== content;
    const removes = withoutRemoved(content, wanted) !== content;
    if (this.#lasts("removal is due", isDue && removes))
      fail("removal", `${wanted} is not published, and removes a registry`);
    // A publication takes a place for ten minutes, or longer if the clock is set back meanwhile. If
    // it is set back by more than an hour, all places are free.
    const { publishedAt, setBacks } = this.#truth;
    const inLastHour = ({ at }: { at: number }) => t - at < 3600;
    const recent = publishedAt.filter((at) => inLastHour({ at })).length;
    const back = setBacks.filter(inLastHour).reduce((sum, { seconds }) => sum + seconds, 0);
    const taken = recent + (back < 3600 ? back / 600 : 0);
    const isFree = taken <= 5 && policy.minInterval === 0;
    if (this.#lasts("publication is due", isDue && isFree))
      fail("publication", `${wanted} is not published`);
  }

  /** Agents follow no content that is older than what they have seen. */
  #judgeRemoval({ content, revision }: Secret): void {
    const { t, machines } = this.#world;
    for (const machine of machines.values()) {
      const { name, disk } = machine;
      const owes =
        disk.file !== content &&
        disk.journal?.change === undefined &&
        revision >= (disk.journal?.seen ?? 0) &&
        withoutRemoved(disk.file, content) !== disk.file;
      const isAble =
        owes &&
        !machine.isDead &&
        machine.isRunning &&
        t - machine.startedAt > 3 &&
        Math.max(machine.frozenUntil, machine.offlineUntil, machine.agentOfflineUntil) < t;
      if (this.#lasts(`${name} owes a removal`, isAble))
        fail("removal", `${name} still has ${disk.file}, the newest is ${content}`);
    }
  }

  /**
   * A node that takes an order after its usual time, or after a jump of the clock, is a silent one,
   * and counts for the guard.
   */
  #judgeWindow(): void {
    const { machines } = this.#world;
    const truth = this.#truth;
    let [late, controlPlane] = [0, 0];
    let most = 0;
    /** Revision → kubelets that are down for it in their usual time. */
    const punctual = new Map<number, number>();
    const provedOf = (revision: number) => truth.histories.get(revision)?.proved.size ?? 0;
    for (const machine of machines.values()) {
      const change = machine.disk.journal?.change;
      if (machine.isKubeletUp || machine.isDead) continue;
      // Any other kubelet is down by itself.
      if (change?.isAsked !== true || change.tries === 0) continue;
      const asked = truth.asked.get(machine.uid);
      const { revision } = change;
      most = Math.max(most, provedOf(revision));
      const isPunctual =
        asked !== undefined &&
        // A newer order can follow while the kubelet is down for an older one.
        asked.attempt === change.attempt &&
        asked.at > truth.jumpedAt &&
        this.#world.t - asked.at <= asked.usualSeconds;
      if (isPunctual) punctual.set(revision, (punctual.get(revision) ?? 0) + 1);
      else late += 1;
      if (isPunctual && machine.isControlPlane) controlPlane += 1;
    }
    if (truth.widest === Infinity) return;
    const judge = (down: number, places: number) => {
      if (down > places) fail("window", `${down} kubelets are down, ${places} are allowed`);
    };
    for (const [revision, down] of punctual)
      judge(down, placesOf(truth, provedOf(revision)) + truth.vanished);
    const all = [...punctual.values()].reduce((sum, down) => sum + down, 0);
    judge(all, truth.widest + truth.vanished);
    const places = placesOf(truth, most) + truth.vanished;
    // At each jump of the clock, the nodes at work seem to be silent.
    if (late > guardOf(most) + places * (1 + truth.jumps))
      fail("window", `${late} late kubelets are down`);
    if (controlPlane > 1 + truth.vanished)
      fail("window", `${controlPlane} control-plane kubelets are down`);
  }

  #judgeStatus(isRunning: boolean, secret: Secret): void {
    const world = this.#world;
    const { isReady, current } = this.#truth;
    // A young Node that lacks the content does not count.
    const counts = (machine: Machine) =>
      !isNotReady(machine) &&
      (nowOf(world) - (world.nodes.get(machine.name)?.created ?? 0) >= 125 ||
        hasNewest(world, machine, secret));
    const machines = [...world.machines.values()];
    const having = machines.filter((machine) => hasNewest(world, machine, secret)).length;
    if (this.#lasts("too many are current", isRunning && current > having))
      fail("status", `${current} nodes are current, ${having} have the newest content`);
    const counted = isReady ? machines.filter(counts) : [];
    const lacking = counted.filter((machine) => !hasNewest(world, machine, secret)).length;
    const isFalse =
      lacking > Math.max(1, counted.length / 20) || lacking * 2 >= Math.max(1, counted.length);
    if (this.#lasts("Ready is false", isRunning && isReady && isFalse))
      fail("status", `Ready, but ${lacking} of ${counted.length} nodes lack the newest content`);
  }

  /** Somebody must be at work while a node waits that could be asked. */
  #judgeDelay(isRunning: boolean, secret: Secret): void {
    const world = this.#world;
    const { t } = world;
    const isHeld =
      !isRunning ||
      t < Math.max(world.pausedUntil, world.unguardedUntil) ||
      this.#truth.haltedBy !== undefined ||
      secret.content !== wantedContent(world) ||
      secret.content === nothing;
    let [atWork, waiting] = [0, ""];
    for (const machine of isHeld ? [] : world.machines.values()) {
      const asked = this.#truth.asked.get(machine.uid);
      const isOfNewest = asked?.revision === secret.revision;
      const { order, report } = world.objects.get(machine.name) ?? {};
      const isOpen = order !== undefined && order.attempt !== report?.attempt;
      const most = Math.max(asked?.usualSeconds ?? 0, usualTime(world)) + reactionSeconds;
      // After a jump of the clock, an old order can look young.
      const isOlder = asked !== undefined && asked.at <= this.#truth.jumpedAt;
      const age = isOlder ? nowOf(world) - (order?.attempt ?? 0) : t - (asked?.at ?? t);
      if (isOpen && Math.abs(age) <= most) atWork += 1;
      else if (!isOfNewest && this.#isAble(machine, secret)) waiting = machine.name;
    }
    if (this.#lasts(`delay of ${secret.revision}`, waiting !== "" && atWork === 0, 30))
      fail("delay", `${waiting} waits, and nobody is at work`);
  }

  #isAble(machine: Machine, secret: Secret): boolean {
    const world = this.#world;
    const { t } = world;
    return (
      !machine.isDead &&
      machine.isRunning &&
      machine.isKubeletUp &&
      machine.silentFor === 0 &&
      t - machine.startedAt > 5 &&
      machine.template?.mode === secret.mode &&
      podOf(world, machine.name)?.uid === machine.pod &&
      !hasNewest(world, machine, secret)
    );
  }
}

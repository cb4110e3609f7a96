/** Runs of a plan: first its events, then a calm phase in which everything must end. */
import { Random } from "#test/random.ts";
import { agentTick } from "./agent.ts";
import { controlPlaneTick } from "./control-plane.ts";
import { applyEvent, churn, joinNew, setTemplate } from "./events.ts";
import { kubeletTick } from "./kubelet.ts";
import { Laws } from "./laws.ts";
import { Product, type Rewrite } from "./product.ts";
import { planOf, smallerPlans, type Plan } from "./schedules.ts";
import { Seconds } from "./seconds.ts";
import { Store } from "./store.ts";
import { fail, guardOf, LawBroken, lostOf } from "./truth.ts";
import {
  breakageOf,
  join,
  log,
  nothing,
  nowOf,
  only,
  podOf,
  wantedContent,
  type Observer,
  type World,
} from "./world.ts";

/**
 * Everything must end within so many seconds after the world has calmed down. The longest waits are
 * those of a withdrawal, and of a node that has refused. In the worst case the nodes follow one
 * after the other. After a jump of the clock, everything that waits for a time waits so much
 * longer.
 */
function endSeconds({ world, laws }: Run): number {
  const perNode = world.template.mode === "Reread" ? 320 : 15;
  return 3000 + perNode * world.machines.size + laws.truth.jumped;
}

type ClusterPlan = Pick<Plan, "seed" | "nodes" | "policy" | "mode" | "cloud">;

/** A run: the world, the product, and the laws that judge it. */
export class Run {
  readonly world: World;
  readonly laws: Laws;
  readonly product: Product;
  /** How many seconds the calm phase took. Undefined if a person must act. */
  took: number | undefined;
  readonly #seconds: Seconds;

  constructor(cluster: ClusterPlan, options: RunOptions = {}) {
    const { seed, nodes, policy, mode, cloud } = cluster;
    const world: World = {
      t: 0,
      random: new Random(seed * 7919 + 1),
      clock: 0,
      ids: 1000,
      secrets: new Store(),
      states: new Store(),
      daemonSets: new Store(),
      nodes: new Store(),
      pods: new Store(),
      objects: new Store(),
      machines: new Map(),
      disks: [],
      backup: undefined,
      delayed: [],
      removalAt: new Map(),
      leaving: new Set(),
      cloud,
      source: { a: 1, b: 2 },
      template: { id: 1, mode, starts: true, life: 0 },
      policy: { ...policy },
      pausedUntil: 0,
      unguardedUntil: 0,
      retries: 0,
      bad: new Map(),
      controller: {
        id: 1,
        startsAt: 0,
        writesLeft: -1,
        killsAfterWrite: false,
        losesAnswersUntil: 0,
        lag: { core: 0, pods: 0, objects: 0, nodes: 0 },
        lagUntil: 0,
      },
      // Replaced below: the laws need the world.
      observer: undefined as unknown as Observer,
      trace: options.traces,
    };
    this.world = world;
    this.laws = new Laws(world);
    world.observer = this.laws;
    this.#seconds = new Seconds(world, this.laws.truth);
    this.product = new Product(world, options.rewrite);
    for (let index = 0; index < nodes; index += 1) join(world, `node${index}`);
  }

  /** One second. */
  tick(): void {
    const { world } = this;
    controlPlaneTick(world);
    for (const machine of world.machines.values()) {
      if (machine.isDead) continue;
      kubeletTick(world, machine);
      if (!machine.isDead) agentTick(world, machine);
    }
    this.#seconds.judge(this.product.tick());
    world.t += 1;
  }

  /**
   * Runs until `isOver`, at most for `seconds`. Returns how long it took, undefined if too long.
   */
  until(isOver: () => boolean, seconds: number, each?: () => void): number | undefined {
    const from = this.world.t;
    for (; this.world.t - from <= seconds; this.tick()) {
      if (isOver()) return this.world.t - from;
      each?.();
    }
    return undefined;
  }
}

export type RunOptions = Readonly<{ rewrite?: Rewrite; traces?: string[] }>;

/** Every trouble ends, and a person corrects the content and the image. Nobody asks for a retry. */
function calmDown(world: World): void {
  log(world, () => "the world calms down");
  const { t, controller } = world;
  controller.writesLeft = -1;
  controller.startsAt = Math.min(controller.startsAt, t + 30);
  world.pausedUntil = world.unguardedUntil = controller.lagUntil = controller.losesAnswersUntil = 0;
  for (const machine of world.machines.values()) {
    machine.unfitUntil = machine.slowUntil = 0;
    machine.offlineUntil = Math.min(machine.offlineUntil, t);
    machine.agentOfflineUntil = Math.min(machine.agentOfflineUntil, t);
    machine.frozenUntil = Math.min(machine.frozenUntil, t);
    if (machine.isDead && world.cloud !== "never") machine.goneAt ||= t + 1;
    if (!machine.isKubeletUp && machine.kubeletBackAt === 0 && !machine.isRunning)
      machine.kubeletBackAt = t + 1;
  }
  if (world.bad.has(world.source.a)) world.source.a = ++world.ids;
  if (!world.template.starts || world.template.life > 0) setTemplate(world, {});
  replaceBroken(world);
}

/**
 * Somebody replaces machines whose kubelet cannot start with the file that it has, and adds one if
 * none is alive.
 */
function replaceBroken(world: World): void {
  for (const machine of world.machines.values()) {
    const { isKubeletUp, disk } = machine;
    const isLeft = !isKubeletUp && disk.journal?.change?.isRestoring !== false;
    if (isLeft && breakageOf(world, machine, disk.file)) machine.goneAt ||= world.t + 1;
  }
  if ([...world.machines.values()].every(({ isDead }) => isDead)) joinNew(world);
}

/** How long a new node may need until it has the newest content, while machines come and go. */
const youngSeconds = { Restart: 300, Reread: 1000 };

/** What a run still lacks at its end. Empty if it is over. */
export function missing({ world, laws }: Run, churns = false): string {
  const wanted = wantedContent(world);
  const secret = world.secrets.get(only);
  const daemonSet = world.daemonSets.get(only);
  if (wanted === nothing) {
    for (const { name, isDead, disk } of world.machines.values())
      if (!isDead && disk.file !== nothing && daemonSet !== undefined)
        return `${name} has ${disk.file}`;
    return daemonSet === undefined && secret === undefined ? "" : "the withdrawal is not complete";
  }
  for (const { name, isDead, uid, disk } of world.machines.values()) {
    const age = nowOf(world) - (world.nodes.get(name)?.created ?? 0);
    if (isDead || (churns && age < youngSeconds[world.template.mode])) continue;
    const pod = podOf(world, name);
    const isReady = pod?.readySince !== undefined && pod.template.id === world.template.id;
    if (!churns && !isReady) return `the pod of ${name} is not Ready`;
    if (disk.file !== wanted) return `${name} (${uid}) has ${disk.file}, not ${wanted}`;
    if (disk.journal?.revision !== secret?.revision) return `${name} has an older revision`;
  }
  if (secret?.content !== wanted) return `${wanted} is not published`;
  if (secret.served !== secret.revision) return `${wanted} is not promoted`;
  return laws.truth.isReady || churns ? "" : "status is not Ready";
}

/** Plays a plan. Throws LawBroken. Returns the run, which is over or waits rightly for a person. */
function play(plan: Plan, options: RunOptions = {}): Run {
  const run = new Run(plan, options);
  const { world } = run;
  const events = [...plan.events];
  for (; world.t < plan.end; run.tick())
    while ((events[0]?.t ?? Infinity) <= world.t) {
      const event = events.shift();
      if (event !== undefined) applyEvent(world, event);
    }
  calmDown(world);
  const churns = plan.churn > 0;
  const isOver = () => world.t % 10 === 0 && missing(run, churns) === "";
  const each = () => {
    if (churns) churn(world, plan.churn, 0.5);
    replaceBroken(world);
  };
  const took = run.until(isOver, endSeconds(run), each);
  if (took === undefined && !needsPerson(run, plan)) fail("end", missing(run, churns));
  run.took = took;
  return run;
}

/**
 * Only a person can judge these: too many nodes were silent and will not answer any more, because
 * they are gone or a person has deleted their objects; or a kubelet died three times by itself
 * during its change, as if the content had broken it.
 */
function needsPerson({ world, laws }: Run, { events }: Plan): boolean {
  const { truth } = laws;
  const revision = world.secrets.get(only)?.revision ?? 0;
  if (truth.isBehind) return true;
  const deaths = events.filter(({ kind }) => kind === "kubeletDies").length;
  if (deaths >= 3 && (truth.histories.get(revision)?.failed.size ?? 0) > 0) return true;
  const uids = new Set(
    [...world.machines.values()].filter(({ isDead }) => !isDead).map(({ uid }) => uid),
  );
  const quiet = lostOf(world, truth, revision).filter(
    (uid) => !uids.has(uid) || truth.dismissed.has(uid),
  );
  return truth.haltedBy === "lost" && quiet.length > guardOf(0);
}

/** The law that the plan breaks, if it breaks one. */
export function brokenLaw(plan: Plan, options: RunOptions = {}): LawBroken | undefined {
  try {
    play(plan, options);
    return undefined;
  } catch (error) {
    if (error instanceof LawBroken) return error;
    throw error;
  }
}

/** The smallest plan that breaks the same law. */
function shrink(plan: Plan, { law }: LawBroken, options: RunOptions): Plan {
  const smaller = smallerPlans(plan).find((other) => brokenLaw(other, options)?.law === law);
  return smaller === undefined ? plan : shrink(smaller, new LawBroken(law, ""), options);
}

/** Plays a plan. If it breaks a law, throws an error with the smallest such plan and its trace. */
function playShrunk(plan: Plan, options: RunOptions = {}): void {
  const broken = brokenLaw(plan, options);
  if (broken === undefined) return;
  const small = shrink(plan, broken, options);
  const traces: string[] = [];
  const last = brokenLaw(small, { ...options, traces });
  throw new Error(`${last?.message}\n${JSON.stringify(small)}\n${traces.slice(-80).join("\n")}`);
}

/** Plays the random plans of `count` seeds, beginning with `from`, for at most `nodes` nodes. */
export function playAll(from: number, count: number, nodes: number): void {
  for (let seed = from; seed < from + count; seed += 1) playShrunk(planOf(seed, nodes));
}

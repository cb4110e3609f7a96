/** Random plans of events, and how a plan runs and ends. */
import { Random } from "#test/random.ts";
import { noMemory } from "#controller/rollout/facts.ts";
import { agent } from "./agent.ts";
import { apply, KINDS, type Event } from "./events.ts";
import { Killed, Refused } from "./writes.ts";
import { controlPlane, kubelet } from "./kubelet.ts";
import { checkImage, checkPrompt, missing, noteWrong } from "./laws.ts";
import { productWhenDue, type Drive } from "./product.ts";
import {
  between,
  fail,
  join,
  kill,
  LawBroken,
  leave,
  log,
  newState,
  RELEASE,
  wantedDigest,
  type Api,
  type Machine,
  type Mode,
  type Template,
  type World,
} from "./world.ts";

export type Plan = Readonly<{
  seed: number;
  nodes: number;
  budget: number;
  maxFailures: number;
  minInterval: number;
  mode: Mode;
  /** Replacements per node and hour. */
  churn: number;
  events: readonly Event[];
  end: number;
}>;

export function planOf(seed: number): Plan {
  const random = new Random(seed);
  const nodes = random.pick([1, 1, 2, 3, 4, 5, 6, 8, 12, 20, 40]);
  const start = random.pick([3, 8, 150]);
  const end = start + random.pick([60, 200, 600]);
  // Omits some kinds of events, so that the plan explores the other kinds more deeply.
  const kinds = KINDS.filter(() => random.fraction() < 0.6);
  const events = random
    .list(random.pick([6, 14, 30]), () => ({
      t: start + random.below(end - start),
      kind: random.pick(kinds),
      who: random.below(1000),
      n: random.below(1000),
    }))
    .toSorted((a, b) => a.t - b.t);
  return {
    seed,
    nodes,
    budget: random.pick([1, 1, 2, 3, Math.ceil(nodes / 4), 100]),
    maxFailures: random.pick([0, 0, 0, 1, 2]),
    minInterval: random.pick([0, 0, 0, 60]),
    mode: random.pick<Mode>(["Restart", "Restart", "Restart", "Reread", "CredentialProvider"]),
    churn: random.pick([0, 0, 0, 0.5, 2, 20]),
    events,
    end,
  };
}

export function newWorld(plan: Plan, tracing = false): World {
  const want: Template = { n: 1, mode: plan.mode, starts: true };
  const { budget, maxFailures, minInterval } = plan;
  const api: Api = {
    a: 1,
    b: 2,
    budget,
    maxFailures,
    minInterval,
    paused: false,
    retry: 0,
    want,
    secret: null,
    state: newState(0),
    ds: null,
    pods: new Map(),
    nodes: new Map(),
  };
  const w: World = {
    t: 0,
    random: new Random(plan.seed * 7919 + 1),
    api,
    old: null,
    machines: new Map(),
    ids: 0,
    values: 100,
    bad: new Map(),
    templates: new Map([[1, want]]),
    deadUntil: 0,
    killIn: -1,
    busyUntil: 0,
    admissionUntil: 0,
    lateUntil: 0,
    clock: 0,
    memory: noMemory,
    due: { objects: "", at: 0 },
    snapshot: null,
    saved: null,
    trace: [],
    tracing,
    churn: plan.churn,
    startDelay: 0,
    linger: 8,
    writes: plan.seed % 3 === 0 ? 40 : 0,
    truth: {
      proved: new Set(),
      broken: new Map(),
      limit: new Map(),
      published: new Map(),
      revisions: 0,
      allowed: 1,
      lastKill: -999,
      withdrawn: new Map(),
      want: RELEASE,
      lostAgents: new Set(),
      upgradeBudget: 0,
      retries: 0,
      hand: 0,
      forgotten: new Set(),
      wrong: new Set(),
      grantedAt: new Map(),
      fulfilled: new Set(),
      shownAt: new Map(),
      firstAt: new Map(),
      failed: new Map(),
      slips: 0,
      forced: 0,
      vanished: 0,
      lowered: { t: -999, budget: 0 },
      owed: 0,
    },
  };
  for (let at = 0; at < plan.nodes; at++) join(w, `node${at}`);
  return w;
}

function noteWithdrawn(w: World): void {
  const { truth } = w;
  const want = wantedDigest(w.api);
  const before = truth.want.split(".");
  want.split(".").forEach((value, at) => {
    if (value === "0" && Number(before[at]) > 0)
      for (let k = 1; k <= w.values; k++)
        if (!truth.withdrawn.has(`${at}:${k}`)) truth.withdrawn.set(`${at}:${k}`, w.t);
    if (value !== "0") truth.withdrawn.delete(`${at}:${value}`);
  });
  truth.want = want;
}

/** Plays one second of the world. */
export function tick(w: World, driver: Drive): void {
  controlPlane(w);
  for (const m of w.machines.values()) {
    if (m.dead) continue;
    if (m.power > w.t) {
      cutPower(m);
      continue;
    }
    kubelet(w, m, w.api.pods.get(m.name));
    if (!m.dead) agent(w, m);
  }
  if (w.t >= w.deadUntil) control(w, driver);
  checkImage(w);
  checkPrompt(w);
}

function cutPower(m: Machine): void {
  m.kubelet = false;
  m.kubeletBack = m.power;
  m.running = false;
  m.mount = null;
  m.message = null;
  m.startAt = m.power + 3;
  if (m.journal) m.journal.said = "";
}

function control(w: World, driver: Drive): void {
  noteWrong(w);
  // Sometimes the controller's view is a second old.
  const seen = w.snapshot ?? w.api;
  const before = w.random.once(40) ? structuredClone(w.api.pods) : null;
  // A decision that begins a retry publishes nothing. The next decision does.
  const retries = seen.retry !== seen.state.retry;
  try {
    if (seen === w.api || isFresh(seen, w.api)) productWhenDue(w, seen, driver);
    const { paused, secret } = w.api;
    // During a pause the controller publishes nothing.
    const publishes = !retries && (!paused || secret?.digest === wantedDigest(w.api));
    if (!w.snapshot && publishes) noteWithdrawn(w);
  } catch (error) {
    if (error instanceof Killed) {
      log(w, "controller: killed");
      kill(w, between(w, 1, 30));
      return;
    } else if (!(error instanceof Refused)) throw error;
  }
  if (w.lateUntil > w.t) {
    w.snapshot = { ...structuredClone(w.api), pods: structuredClone(seen.pods) };
    return;
  }
  // Sometimes keeps an old view for the next second: all objects as they are now, or only the pods
  // as they were before this second's patches.
  w.snapshot = w.random.once(20) ? structuredClone(w.api) : null;
  if (before) w.snapshot = { ...structuredClone(w.api), pods: before };
}

/**
 * True if Secret, DaemonSet and state are unchanged since `seen`, so that writes meet no conflict.
 */
function isFresh(seen: Api, { secret, ds, state }: Api): boolean {
  const text = (api: Pick<Api, "secret" | "ds" | "state">): string =>
    JSON.stringify([api.secret, api.ds, api.state]);
  return text(seen) === text({ secret, ds, state });
}

/** Plays a plan to its end. Throws `LawBroken`. */
function run(plan: Plan, driver: Drive, world = newWorld(plan)): World {
  const events = [...plan.events];
  for (; world.t < plan.end; world.t++) {
    for (let next = events[0]; next && next.t <= world.t; next = events[0]) {
      apply(world, next);
      events.shift();
    }
    tick(world, driver);
  }
  settle(world, driver);
  return world;
}

/**
 * Ends a run: no more events, except a constant rate of replaced nodes. A person follows the
 * instructions in status: corrects the content, repairs nodes, ends a pause or retries.
 */
function settle(w: World, driver: Drive): void {
  const { api } = w;
  log(w, "the world calms down");
  w.killIn = -1;
  w.busyUntil = w.admissionUntil = 0;
  api.paused = false;
  for (const m of w.machines.values()) {
    m.net = m.unfit = 0;
    m.wait = Math.min(m.wait, w.t);
    m.unstartable = "";
    if (m.power > w.t) m.power = m.kubeletBack = m.startAt = w.t;
    if (m.dead || (!m.kubelet && !m.kubeletBack && !m.running)) join(w, m.name);
  }
  if (w.bad.has(api.a)) {
    // Without this, the rollout of the bad content would continue until minInterval has passed.
    api.minInterval = 0;
    w.values += 1;
    api.a = w.values;
    w.truth.allowed += 1;
  }
  if (!api.want.starts) {
    w.values += 1;
    api.want = { n: w.values, mode: api.want.mode, starts: true };
    w.templates.set(api.want.n, api.want);
  }
  w.deadUntil = Math.min(w.deadUntil, w.t + 30);
  const from = w.t;
  let problem = "nothing was checked";
  const isSlow = [...w.templates.values()].some(({ mode }) => mode === "Reread");
  // A canary of mode Reread needs five minutes. At 20 replacements an hour few nodes exist for so
  // long.
  if (isSlow) w.churn = Math.min(w.churn, 2);
  // A withdrawal does not wait for outages or joining nodes, but it can proceed node by node. If a
  // person has planted a grant on a pod that cannot start, the controller replaces this pod after
  // twice the time of a grant: first the withdrawal's grant is late, and then its revocation.
  const hasOther = [...w.templates.values()].some(({ mode }) => mode !== "Restart");
  const withdrawal = Math.max(hasOther ? 1800 : 1200, 30 * w.machines.size);
  const limit = wantedDigest(api) === RELEASE ? withdrawal : 6000;
  for (; w.t < from + limit; w.t++) {
    if (w.churn) churn(w);
    bury(w);
    const { state, secret } = w.api;
    if ((w.t - from) % 600 === 599 && state.halted && state.rev === secret?.rev) {
      w.api.retry += 1;
      w.truth.retries += 1;
    }
    tick(w, driver);
    if ((w.t - from) % 10 !== 0) continue;
    problem = missing(w);
    if (!problem) return;
  }
  fail("ends", problem);
}

/** Machines leave at a constant rate, half of them without notice, and others join. */
export function churn(w: World): void {
  for (const m of Array.from(w.machines.values())) {
    if (w.random.fraction() >= w.churn / 3600 || m.net > w.t) continue;
    if (w.random.once(2)) {
      m.net = 1e9;
      // Some cloud providers delete the Node within a minute. Others delete it much later, and then
      // a node that was changing counts as failed.
      m.goneAt = w.t + between(w, 1, 55) * (m.id % 4 === 0 ? w.linger : 1);
    } else leave(w, m.name);
    w.values += 1;
    join(w, `n${w.values}`);
  }
}

/**
 * Deletes the Nodes of machines that are gone. Also deletes the Nodes of dead machines, as a person
 * would.
 */
export function bury(w: World): void {
  for (const m of Array.from(w.machines.values()))
    if (m.goneAt && w.t >= m.goneAt) {
      leave(w, m.name);
      if (w.machines.size === 0) join(w, m.name);
    } else if (m.dead) {
      m.goneAt = w.t + 200;
      m.dead = false;
      m.net = 1e9;
    }
}

/** Returns the law that the plan breaks, if any. */
export function broken(plan: Plan, driver: Drive, world?: World): LawBroken | undefined {
  try {
    run(plan, driver, world);
    return undefined;
  } catch (error) {
    if (error instanceof LawBroken) return error;
    throw error;
  }
}

/** Finds the smallest plan, by events and nodes, that still breaks the same law. */
export function shrink(plan: Plan, law: string, driver: Drive): Plan {
  let smallest = plan;
  const tries = (base: Plan): readonly Plan[] => [
    ...base.events.map((_, at) =>
      Object.assign({}, base, { events: base.events.toSpliced(at, 1) }),
    ),
    ...(base.churn > 0 ? [{ ...base, churn: 0 }] : []),
    ...smaller(base.nodes).map((nodes) => Object.assign({}, base, { nodes })),
  ];
  for (let next: Plan | undefined = plan; next;) {
    smallest = next;
    next = tries(smallest).find((candidate) => broken(candidate, driver)?.law === law);
  }
  return smallest;
}

const smaller = (nodes: number): readonly number[] =>
  [1, Math.ceil(nodes / 2), nodes - 1].filter((fewer) => fewer > 0 && fewer < nodes);

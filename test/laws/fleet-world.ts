/**
 * A simulated fleet, and the laws of a rollout across clusters. It contains none of the product's
 * code. Clusters are honest, or lie, stall, flap or leave. Times are seconds.
 */
import { Random } from "#test/random.ts";

/** `flap`: at random. `blink`: shortly away before each place would end. */
type Behaviour = "honest" | "lie" | "stall" | "flap" | "blink" | "leave";

/** What a cluster shows of the content. */
export type Shown = "nothing" | "away" | "held" | "awaited" | "proved" | "refused";

export type FleetPlan = Readonly<{
  seed: number;
  behaviours: readonly Behaviour[];
  /** Names of the canaries. */
  canaries: ReadonlySet<string>;
  maxUnavailable: number | string;
  /** Whether honest clusters refuse the content. */
  isBad: boolean;
  /** Seconds until the end. */
  end: number;
}>;

/** What the controller decides in one second. */
type Decided = Readonly<{
  change: readonly string[];
  isReady: boolean;
  isAvailable: boolean;
}>;

export type FleetController = (observed: ReadonlyMap<string, Shown>, now: number) => Decided;

/** A place lasts for a write and its proof. */
const placeSeconds = 120;
/** Seconds between two runs of the controller. */
const step = 5;

type Member = {
  readonly name: string;
  readonly behaviour: Behaviour;
  /** Seconds from a write to the proof. */
  readonly proves: number;
  has: boolean;
  firstWrite: number | undefined;
  write: number;
};

export class BrokenLaw extends Error {
  readonly law: string;
  constructor(law: string, message: string) {
    super(`${law}: ${message}`);
    this.law = law;
  }
}

/** A random plan with this many clusters at most. */
export function fleetPlanOf(seed: number, most = 40): FleetPlan {
  const random = new Random(seed);
  const count = random.pick([1, 2, 3, 5, 10, 20, 40].filter((size) => size <= most));
  const share = random.pick([0, 0.1, 0.3]);
  const kinds: readonly Behaviour[] = ["lie", "stall", "flap", "blink", "leave"];
  const behaviours = Array.from({ length: count }, () =>
    random.fraction() < share ? random.pick(kinds) : "honest",
  );
  const isBad = random.once(5);
  const names = behaviours.map((_, at) => nameOf(at));
  const canaries = new Set(random.once(3) ? names.filter(() => random.once(5)) : []);
  const maxUnavailable = random.pick(["10%", "10%", "50%", 1, 3, "100%"]);
  const end = isBad ? 10 * placeSeconds : (count + 4) * placeSeconds;
  return { seed, behaviours, canaries, maxUnavailable, isBad, end };
}

const nameOf = (at: number): string => `c${String(at).padStart(3, "0")}`;

/**
 * Plays the plan. Throws BrokenLaw. Returns when the last honest cluster got the content, or
 * undefined if one never did.
 */
function playFleet(plan: FleetPlan, controller: FleetController): number | undefined {
  const random = new Random(plan.seed + 1);
  const members: Member[] = plan.behaviours.map((behaviour, at) => ({
    name: nameOf(at),
    behaviour,
    proves: 5 + random.below(80),
    has: false,
    firstWrite: undefined,
    write: 0,
  }));
  const hostile = plan.behaviours.filter((behaviour) => behaviour !== "honest").length;
  let last: number | undefined;
  for (let now = 0; now <= plan.end; now += step) {
    const observed = new Map(
      members.map((member) => [member.name, shownBy(member, plan, now, random)]),
    );
    const decided = controller(observed, now);
    judgeClaims(decided, observed, now);
    const reachable = [...observed.values()].filter((shown) => !isOut(shown)).length;
    const fresh = members.filter(
      ({ name, firstWrite }) => firstWrite === undefined && decided.change.includes(name),
    );
    for (const member of members) {
      if (!decided.change.includes(member.name)) continue;
      if (isOut(observed.get(member.name)))
        throw new BrokenLaw("reach", `${member.name} is written although it is away`);
      member.firstWrite ??= now;
      member.has = true;
      member.write = now;
    }
    if (fresh.length > 0) judgeWindow(plan, members, observed, now, reachable);
    judgeCanaries(plan, members, observed, fresh, now);
    if (plan.isBad) {
      const reached = members.filter(
        ({ behaviour, firstWrite }) => behaviour === "honest" && firstWrite !== undefined,
      ).length;
      if (reached > 2 + 2 * hostile && plan.maxUnavailable !== "100%")
        throw new BrokenLaw("halt", `${reached} clusters got content that each refuses`);
    }
    const isServed = members.every(
      ({ behaviour, firstWrite }) => behaviour !== "honest" || firstWrite !== undefined,
    );
    if (isServed) last ??= now;
    // Some more runs, in which the status must not claim too much.
    if (!plan.isBad && last !== undefined && now >= last + 6 * step) return last;
  }
  return last;
}

const isOut = (shown: Shown | undefined): boolean => shown === "away" || shown === "held";

function shownBy(member: Member, { isBad }: FleetPlan, now: number, random: Random): Shown {
  const { behaviour, has, write, proves } = member;
  const age = now - write;
  switch (behaviour) {
    case "leave":
      return age > 60 && has ? "away" : has ? "awaited" : "nothing";
    case "flap": {
      const mood = random.pick([
        "awaited",
        "awaited",
        "away",
        "held",
        "nothing",
        "proved",
      ] as const);
      if (mood === "nothing") member.has = false;
      return member.has || isOut(mood) ? mood : "nothing";
    }
    case "lie":
      return has ? random.pick(["proved", "awaited"] as const) : "nothing";
    case "stall":
      return has ? "awaited" : "nothing";
    case "blink":
      return has
        ? (now - (member.firstWrite ?? now)) % 100 < 10 && age > 50
          ? "held"
          : "awaited"
        : "nothing";
    case "honest":
      if (!has) return "nothing";
      if (isBad) return age >= proves ? "refused" : "awaited";
      return age >= proves ? "proved" : "awaited";
  }
}

/** The status claims no more than the clusters show. */
function judgeClaims(
  { isReady, isAvailable }: Decided,
  observed: ReadonlyMap<string, Shown>,
  now: number,
): void {
  const all = [...observed.values()];
  const proved = all.filter((shown) => shown === "proved").length;
  const reachable = all.filter((shown) => shown !== "away").length;
  if (isReady && proved < all.length)
    throw new BrokenLaw("truth", `Ready with ${proved} of ${all.length} at ${now} s`);
  if (isAvailable && (10 * proved < 9 * reachable || 2 * proved <= all.length))
    throw new BrokenLaw("truth", `Available with ${proved} of ${reachable} at ${now} s`);
}

/** After a cluster got a place, no more honest clusters work than the window allows. */
function judgeWindow(
  { maxUnavailable }: FleetPlan,
  members: readonly Member[],
  observed: ReadonlyMap<string, Shown>,
  now: number,
  reachable: number,
): void {
  if (maxUnavailable === "100%") return;
  const most =
    typeof maxUnavailable === "number"
      ? maxUnavailable
      : Math.max(1, Math.floor((Number.parseInt(maxUnavailable, 10) / 100) * reachable));
  const isYoung = ({ firstWrite }: Member) =>
    firstWrite !== undefined && now - firstWrite < placeSeconds;
  const isOpen = ({ name }: Member) => {
    const shown = observed.get(name);
    return shown !== "proved" && shown !== "refused" && !isOut(shown);
  };
  const atWork = members.filter(
    (member) => member.behaviour === "honest" && isYoung(member) && isOpen(member),
  ).length;
  const proved = [...observed.values()].filter((shown) => shown === "proved").length;
  // A cluster that had proved the content and lost it counts as proved for one more run.
  const lost = members.filter(
    ({ behaviour }) => behaviour === "lie" || behaviour === "flap",
  ).length;
  if (atWork > Math.min(most, 1 + 2 * proved + 2 * lost))
    throw new BrokenLaw("window", `${atWork} at work with ${proved} proofs at ${now} s`);
}

/** No other cluster gets the content while a canary waits, or works in its place. */
function judgeCanaries(
  { canaries, maxUnavailable }: FleetPlan,
  members: readonly Member[],
  observed: ReadonlyMap<string, Shown>,
  fresh: readonly Member[],
  now: number,
): void {
  if (maxUnavailable === "100%" || fresh.every(({ name }) => canaries.has(name))) return;
  const open = members.find(
    ({ name, firstWrite, behaviour }) =>
      canaries.has(name) &&
      behaviour === "honest" &&
      !["proved", "refused"].includes(observed.get(name) ?? "") &&
      (firstWrite === undefined || now - firstWrite < placeSeconds),
  );
  if (open !== undefined)
    throw new BrokenLaw("canary", `${open.name} has not proved the content at ${now} s`);
}

/**
 * Hostile clusters delay the honest ones by their own places at most: two minutes each. The plan
 * without them shows how long the honest ones need.
 */
export function judgeDelay(plan: FleetPlan, create: () => FleetController): void {
  const last = playFleet(plan, create());
  if (plan.isBad) return;
  const hostile = plan.behaviours.filter((behaviour) => behaviour !== "honest").length;
  const alone = { ...plan, behaviours: plan.behaviours.filter((one) => one === "honest") };
  if (alone.behaviours.length === 0) return;
  const honestOnly = playFleet({ ...alone, canaries: new Set() }, create()) ?? 0;
  const most = honestOnly + hostile * placeSeconds + 2 * placeSeconds;
  if (last === undefined || last > most)
    throw new BrokenLaw("delay", `the last honest cluster got it at ${last} s, not by ${most} s`);
}

/** Scenes: a cluster in which every node has the first content, and then something happens. */
import assert from "node:assert/strict";
import { churn, type Leaving } from "./events.ts";
import { missing, Run } from "./run.ts";
import { defaultPolicy, type Plan } from "./schedules.ts";
import { only, podOf, wantedContent, withoutRemoved, type Machine, type World } from "./world.ts";

/** The default policy: a tenth of the nodes, and no failure. */
const policyFor = (nodes: number): Plan["policy"] => ({
  ...defaultPolicy,
  maxUnavailable: Math.ceil(nodes / 10),
});

/** A cluster in which every node has the first content, and has had it for a while. */
export function servedCluster(nodes: number, changes: Partial<Plan> = {}): Run {
  const plan = {
    seed: 1,
    nodes,
    policy: policyFor(nodes),
    mode: "Restart",
    cloud: "fast",
  } as const;
  const run = new Run({ ...plan, ...changes });
  assert.notEqual(
    run.until(() => missing(run) === "", 5000),
    undefined,
    missing(run),
  );
  run.until(() => false, 100);
  return run;
}

/** Publishes new content, and returns the first node that is asked for it. */
export function firstAsked(run: Run, edit: (world: World) => void): Machine {
  const { world } = run;
  edit(world);
  let first: Machine | undefined;
  const took = run.until(() => {
    const revision = world.secrets.get(only)?.revision;
    const asked = [...world.objects.live.values()].find(
      ({ order }) => order?.revision === revision,
    );
    first = asked && world.machines.get(asked.name);
    return first !== undefined;
  }, 60);
  assert.ok(took !== undefined && first !== undefined, "nobody is asked");
  return first;
}

/** Replaces the value of one registry. */
export function edit({ source }: World): void {
  source.a += 1;
}

/** Seconds until every machine has the wanted content, except these. */
export function untilAllHaveIt(run: Run, except: readonly Machine[], seconds = 3000): number {
  const { world } = run;
  const has = ({ disk }: Machine) =>
    disk.file === wantedContent(world) && disk.journal?.change === undefined;
  const others = () => [...world.machines.values()].filter((machine) => !except.includes(machine));
  const took = run.until(() => others().every(has), seconds);
  assert.ok(took !== undefined, `${others().find((machine) => !has(machine))?.name} waits`);
  return took;
}

/** Seconds until no machine has anything that was removed, except these. */
export function untilRemoved(run: Run, except: readonly Machine[]): number {
  const { world } = run;
  const took = run.until(() => {
    const wanted = wantedContent(world);
    return [...world.machines.values()].every(
      (machine) =>
        machine.isDead ||
        except.includes(machine) ||
        withoutRemoved(machine.disk.file, wanted) === machine.disk.file,
    );
  }, 600);
  assert.ok(took !== undefined, "a removed registry remains");
  return took;
}

/** How many agents run. */
export const runningAgents = ({ world }: Run): number =>
  [...world.machines.keys()].filter((name) => podOf(world, name)?.isRunning === true).length;

/** Machines die under the controller's eyes, and are replaced. */
export function churnFor(run: Run, perHour: number, seconds: number, who?: Leaving): void {
  const dying = () => churn(run.world, perHour, 1, who);
  run.until(() => false, seconds, dying);
}

/**
 * Seconds until the present change is over, and until joining nodes get it, under the same churn. A
 * node that is younger than five minutes can still be on its way.
 */
export function underChurn(
  run: Run,
  perHour: number,
  seconds: number,
  who?: Leaving,
): Readonly<{ over: number | undefined; promoted: number | undefined }> {
  const { world } = run;
  const from = world.t;
  let promoted: number | undefined;
  const dying = () => {
    const secret = world.secrets.get(only);
    const isServed = secret?.content === wantedContent(world) && secret.served === secret.revision;
    if (isServed) promoted ??= world.t - from;
    churn(world, perHour, 1, who);
  };
  const isOver = () => world.t % 5 === 0 && missing(run, true) === "";
  return { over: run.until(isOver, seconds, dying), promoted };
}

/** The agent: wiring only. What it does is read in decide.ts. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { nodeFiles, secretKeys } from "../pullsecret/names.ts";
import { act } from "./act.ts";
import { ConfigError, readConfig } from "./config.ts";
import { keepMemoryOutOfCores } from "./cores.ts";
import { decide } from "./decide.ts";
import { askHealthz } from "./health.ts";
import { openLog } from "./log.ts";
import { look } from "./look.ts";
import { Loop } from "./loop.ts";
import { mayGiveAway } from "./nodefile.ts";
import { probeOn } from "./probe.ts";
import { say } from "./problems.ts";
import { sweep } from "./replace.ts";
import { Rest } from "./rest.ts";
import { Spare } from "./spare.ts";
import { Deeds, Steady } from "./steady.ts";
import { fast } from "./step.ts";
import { systemdOver } from "./systemd.ts";
import { Teller, trouble } from "./tell.ts";
import { watchDirectories } from "./watch.ts";

/** Milliseconds that never jump. `performance.now()` would do, and takes 2 ms to load. */
const clock = () => process.uptime() * 1000;

async function main(): Promise<number> {
  keepMemoryOutOfCores();
  const config = readConfig(process.argv.slice(2), process.env);
  const stopping = new AbortController();
  // Node as process 1 ignores signals that it does not handle, and the pod would take its whole grace period to end.
  for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => stopping.abort());

  const deeds = new Deeds(clock);
  const systemd = systemdOver(config.dbusDirectory, config.unit, stopping.signal);
  const log = openLog(config.node, config.revision);
  const teller = new Teller(log, (line) => writeFileSync(config.terminationLog, line));
  const probe = probeOn(config.probePort, config.revision, () => teller.readiness);
  const loop = new Loop(stopping.signal);
  const folder = join(config.kubeletDirectory, nodeFiles.folder);
  // The names that matter, and no other: each `..timestamp` folder that a mount goes through would be watched as well, and
  // 10,000 quick swaps would fill the heap.
  const targets = new Set([
    join(config.kubeletDirectory, nodeFiles.config),
    ...["..data", ...Object.values(secretKeys)].map((name) => join(config.secretDirectory, name)),
  ]);
  let watching: Promise<void> | undefined;
  const watch = () =>
    watchDirectories(
      [config.secretDirectory, config.kubeletDirectory],
      (path) => targets.has(path),
      () => loop.hint(),
    );

  let swept = false;
  const acquire = async () => {
    const alone = await probe.acquire();
    // Only the node's only agent may sweep: another one's staged file is about to be renamed.
    if (alone && !swept && config.revision > 0) sweep(folder);
    swept ||= alone;
    return alone;
  };
  const healthz = () => askHealthz(config.healthzPort);
  const mayChown = mayGiveAway();
  const senses = { config, mayChown, systemd, healthz, acquire, now: Date.now, steady: new Steady(clock), deeds };
  const rest = new Rest(config, clock);
  const spare = new Spare();
  const code = await loop.run({
    next: async () => {
      spare.tidy();
      // A kubelet that asks every second is alive; to ask it back makes all its probes dearer (docs/decisions/0012).
      const asked = probe.asked();
      const step = await rest.next(
        async () => decide(await look(senses)),
        async () => asked || (await healthz()),
      );
      if (rest.rests) spare.settle();
      // Not before there is time: to load it takes 30 ms of the processor, and until then nothing waits for a hint.
      if (step.again === "back off" || step.again > fast) watching ??= watch();
      return step;
    },
    tell: (step) => teller.tell(step),
    act: async (step) => teller.done(step, await act(step, { config, systemd, deeds })),
    failed: trouble,
    rest: systemd.hangUp,
  });
  if (code === 0) log({ code: "GPS227" }, say("GPS227"));
  probe.close();
  return code;
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    const misused = error instanceof ConfigError;
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(misused ? 2 : 1);
  },
);

/** Runs one side: its engine in a loop, and the watches that start the next run. */
import type { Logger } from "pino";
import type { Gate } from "#kube/lanes.ts";
import { createLoop, logFailures, warnOf } from "#runtime/loop.ts";
import type { ServedProgram } from "#runtime/run.ts";
import { Engine } from "./engine.ts";
import type { Metrics } from "./metrics.ts";
import type { Side } from "./side.ts";

/** `hint`: starts the next run after a change that the watches do not show. */
type ServedSide = ServedProgram & Readonly<{ hint: () => void }>;

type Options = Readonly<{
  side: Side;
  /** The tenant's namespace in the management cluster. */
  namespace: string;
  log: Logger;
  metrics: Metrics;
  /** The lanes that all sides of this process share. */
  gate?: Gate;
}>;

export function serveSide({ side, namespace, log, metrics, gate }: Options): ServedSide {
  const engine = new Engine(side, log, metrics, gate);
  const failures = logFailures(log, "a run failed; trying again");
  const loop = createLoop({
    async run() {
      const again = await engine.run();
      if (again === false) return undefined;
      metrics.ran(namespace, true);
      return again;
    },
    failed(error, times) {
      metrics.ran(namespace, false);
      return failures(error, times);
    },
  });
  return {
    silence: loop.silence,
    hint: loop.hint,
    async until(signal) {
      const failed = warnOf(log, "a watch failed");
      const watched = { hint: loop.hint, failed, signal };
      const watches = [engine.objects.until(watched), engine.results.until(watched)];
      await loop.until(signal);
      await Promise.all(watches);
      metrics.ended(namespace);
    },
  };
}

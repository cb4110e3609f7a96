/** Runs one side: its engine in a loop, and the watches that start the next run. */
import type { Logger } from "pino";
import { watchCollection } from "#kube/watch/collection.ts";
import { createLoop, logFailures, warnOf } from "#runtime/loop.ts";
import type { ServedProgram } from "#runtime/run.ts";
import { Engine } from "./engine.ts";
import type { Metrics } from "./metrics.ts";
import type { Side } from "./side.ts";

/** `hint`: starts the next run after a change that the watches do not show. */
type ServedSide = ServedProgram & Readonly<{ hint: () => void }>;

export function serveSide(side: Side, log: Logger, metrics: Metrics): ServedSide {
  const engine = new Engine(side, log, metrics);
  const loop = createLoop({
    run: () => engine.run(),
    failed: logFailures(log, "a run failed; trying again"),
  });
  const { from, objects, to, results } = side;
  return {
    silence: loop.silence,
    hint: loop.hint,
    async until(signal) {
      const failed = warnOf(log, "a watch failed");
      const watched = { query: {}, hint: loop.hint, failed, signal };
      const watches = [
        watchCollection({ ...watched, cluster: from, path: objects }),
        watchCollection({ ...watched, cluster: to, path: results }),
      ];
      await loop.until(signal);
      await Promise.all(watches);
    },
  };
}

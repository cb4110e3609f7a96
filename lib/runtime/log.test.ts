import assert from "node:assert/strict";
import { test } from "node:test";
import { openLog } from "./log.ts";

test("adds the link for a code to each line whose message or fields contain the code", () => {
  const lines: string[] = [];
  const log = openLog("info", { write: (line) => void lines.push(line) });
  const error = "Secret: GPS402 not one YAML document";
  log.info("started");
  log.info({ node: "n1" }, "started");
  log.warn("GPS305 rollout: halted");
  log.warn({ event: "RolloutHalted" }, "GPS305 rollout: halted");
  log.error({ error }, "a run failed");
  const shown = lines.map((line) => {
    const { time, msg, help, level, ...rest } = JSON.parse(line) as Record<string, unknown>;
    assert.equal(typeof time, "number");
    return [level, msg, help, rest];
  });
  assert.deepEqual(shown, [
    [30, "started", undefined, {}],
    [30, "started", undefined, { node: "n1" }],
    [40, "GPS305 rollout: halted", "kubectl pull-secret help GPS305", {}],
    [40, "GPS305 rollout: halted", "kubectl pull-secret help GPS305", { event: "RolloutHalted" }],
    [50, "a run failed", "kubectl pull-secret help GPS402", { error }],
  ]);
});

/** How often status is written while many nodes change. */
import assert from "node:assert/strict";
import { stays, until } from "../cluster/await.ts";
import * as plane from "./plane.ts";
import { deployed, kubelets, names, on, start } from "./rig.ts";
import { untilAvailable, untilCondition } from "./steer.ts";

/** Asserts that a first rollout to this many nodes writes status at most once a second. */
export async function spacedStatus(nodes: number): Promise<void> {
  for (let index = names.length; index < nodes; index += 1) await kubelets.add(`many-${index}`);
  const since = new Date().toISOString();
  await start(1);
  await deployed();
  await untilCondition(on, "Ready", "True", "InForce");
  await untilAvailable(on);
  const at = () =>
    plane
      .requests(on, since)
      .filter(({ resource }) => resource.endsWith("globalpullsecrets/status"))
      .map(({ at: time }) => Date.parse(time));
  let seen = 0;
  const same = () => seen > 0 && seen === at().length;
  await until("the audit log is complete", () => same() || void (seen = at().length), {
    every: 500,
  });
  const times = at();
  assert.ok(times.length >= 5, `${times.length} writes`);
  for (const [index, time] of times.slice(1).entries())
    assert.ok(time - (times[index] ?? 0) >= 1000, `${time - (times[index] ?? 0)} ms apart`);
  await stays("no status is written", () => at().length === times.length, 4000);
}

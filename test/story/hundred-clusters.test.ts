/** Ten broken clusters among a hundred must not harm the other clusters. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { brought, startAilingFleet } from "./ailing-fleet.ts";

test("when ten of 100 clusters are broken, serves the other 90, is not Ready, and lists the ten, even after a restart", async () => {
  await using fleet = await startAilingFleet();
  await fleet.untilServed();
  const conditions = fleet.status()?.conditions ?? [];
  const is = (type: string) => conditions.find((condition) => condition.type === type)?.status;
  assert.deepEqual([is("Ready"), is("Stalled")], ["False", "False"]);
  for (const [at, name] of fleet.names.entries())
    if (at % 10 !== 0) {
      const placed = fleet.fakes.api(name).object<{ data: object }>(brought.path);
      assert.deepEqual(placed?.data, brought.data, name);
    }
  await fleet.restart();
  assert.ok(
    !fleet.reported().has("Stalled"),
    "a new controller reports clusters' own problems as a halt",
  );
});

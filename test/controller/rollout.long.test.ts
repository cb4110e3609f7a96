/** What a sample of stands in rollout.test.ts: many kills, two controllers that compete. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../cluster/await.ts";
import { killedAtRandom } from "./killed.ts";
import * as plane from "./plane.ts";
import { content, kubelets, names, on, rig, served, start, started } from "./rig.ts";

rig();

test("a controller killed ten times in a rollout, and in a removal, comes to the same end", (context) =>
  killedAtRandom(context, 10));

test("two controllers at once: no double rollout, no lost change, one content per revision", async () => {
  await served(1);
  await start(1);
  const contents = new Map<number, Set<string>>();
  for (const word of ["two", "three"]) {
    await plane.declare(on, content(word));
    await until("it is published", async () => {
      const now = await plane.published(on);
      if (now !== undefined)
        contents.set(now.revision, (contents.get(now.revision) ?? new Set()).add(now.document));
      return now?.document === content(word);
    });
  }
  const last = (await plane.published(on))?.revision ?? 0;
  await plane.untilRolledOut(on, last);
  assert.ok([...contents.values()].every((documents) => documents.size === 1));
  for (let revision = 1; revision <= last; revision++) assert.ok(started(revision) <= names.length);
  assert.equal(kubelets.mostAtOnce, 1);
  assert.equal(
    (await plane.eventsOf(on)).filter(
      ({ reason, message }) => reason === "RolledOut" && message.includes(`revision ${last} `),
    ).length,
    1,
  );
});

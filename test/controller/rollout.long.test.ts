/** Lets two controllers compete. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../cluster/await.ts";
import * as plane from "./plane.ts";
import { kubelets, names, on, rig, served, start, started } from "./rig.ts";
import { content } from "./plane.ts";

rig();

test("rolls out each change once, and one content per revision, while two controllers run at once", async () => {
  const first = await served(1);
  await start(1);
  const contents = new Map<number, Set<string>>();
  for (const word of ["two", "three"]) {
    await plane.declare(on, content(word));
    await until("the content is published", async () => {
      const now = await plane.published(on);
      if (now !== undefined)
        contents.set(now.revision, (contents.get(now.revision) ?? new Set()).add(now.document));
      return now?.document === content(word);
    });
  }
  const last = (await plane.published(on))?.revision ?? 0;
  await plane.untilRolledOut(on, last);
  assert.ok([...contents.values()].every((documents) => documents.size === 1));
  for (const revision of [first, ...contents.keys()]) assert.ok(started(revision) <= names.length);
  assert.equal(kubelets.mostAtOnce, 1);
  assert.equal(
    (await plane.eventsOf(on)).filter(
      ({ reason, message }) => reason === "RolledOut" && message.includes(`revision ${last} `),
    ).length,
    1,
  );
});

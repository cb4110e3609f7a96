/**
 * The product's life with the API server, DaemonSet controller and scheduler of the version that
 * KUBERNETES names, and simulated nodes.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { VersionInfo } from "@kubernetes/client-node";
import * as plane from "../controller/plane.ts";
import { content } from "../controller/plane.ts";
import {
  kubelets,
  on,
  published,
  replaceController,
  restarts,
  rig,
  servedForLong,
  uids,
  undeclare,
  untilReplaced,
} from "../controller/rig.ts";

rig();

/** Asserts that every node has this content, or none. */
function assertApplied(word?: string): void {
  const expected = word === undefined ? undefined : content(word);
  for (const { name, applied } of kubelets.model.nodes) assert.equal(applied, expected, name);
}

test("delivers a Secret and its rotation to every node, keeps both when the agents get another template, and removes everything", async () => {
  const { gitVersion } = (await on.api.get<VersionInfo>("/version")) ?? assert.fail();
  assert.equal(gitVersion, `v${on.cluster.kit.parts.kubernetes}`);
  await servedForLong();
  assertApplied("one");
  const revision = await published("two");
  await plane.untilRolledOut(on, revision);
  assertApplied("two");
  const [agents, before] = [await uids(), restarts()];
  await replaceController("--agent-requests", "memory=33Mi");
  await untilReplaced(agents);
  assert.deepEqual(restarts(), before);
  assert.equal((await plane.published(on))?.revision, revision);
  await undeclare();
  await plane.untilGone(on);
  assertApplied();
  assert.deepEqual(await plane.nodePullSecrets(on), []);
});

/** GlobalPullSecret on a real API server: policy in, status out, and what nobody loses by it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { GlobalPullSecret } from "#api/global-pull-secret.ts";
import { stays, until } from "../cluster/await.ts";
import * as plane from "./plane.ts";
import { paths } from "./plane.ts";
import { content, on, rig, running, served, start, undeclare } from "./rig.ts";
import { statusOf, steer, untilCondition } from "./steer.ts";

rig();

const kubectl = (...args: string[]) => on.cluster.kubectl(...args);
const object = async () =>
  JSON.parse(
    await kubectl("get", "gps", "cluster", "-o", "json", "--show-managed-fields"),
  ) as GlobalPullSecret;

test("deleted, the object is made anew with the defaults, and nothing is withdrawn", async () => {
  const revision = await served("100%");
  await kubectl("delete", "gps", "cluster");
  await until("it is there again", () =>
    object().then(
      ({ spec }) => spec?.rollout?.maxUnavailable === "10%",
      () => false,
    ),
  );
  await untilCondition(on, "Ready", "True", "InForce");
  assert.equal((await plane.published(on))?.revision, revision);
});

test("Paused holds a change and a withdrawal; Managed lets them go", async () => {
  const revision = await served("100%");
  await steer(on, { managementState: "Paused", rollout: { maxUnavailable: "100%" } });
  await untilCondition(on, "Ready", "True", "Paused");
  await plane.declare(on, content("two"));
  await untilCondition(on, "Stalled", "True", "Paused");
  await undeclare();
  await until("the withdrawal is said to wait", async () =>
    ((await statusOf(on)).conditions ?? []).some(({ message }) =>
      message.startsWith("paused: a withdrawal"),
    ),
  );
  const kept = async () => (await plane.published(on))?.revision === revision;
  await stays("nothing is published", kept, 3000);
  await plane.declare(on, content("two"));
  await steer(on, "100%");
  await plane.untilRolledOut(on, await plane.untilPublished(on, content("two")));
});

test("Withdrawn gives the nodes back and keeps the user's Secret; Managed begins anew", async () => {
  await served("100%");
  await steer(on, { managementState: "Withdrawn", rollout: { maxUnavailable: "100%" } });
  await plane.untilGone(on);
  await untilCondition(on, "Ready", "True", "Withdrawn");
  assert.notEqual(await on.api.get(paths.additional), undefined);
  await steer(on, "100%");
  await plane.untilPublished(on, content("one"));
  await untilCondition(on, "Ready", "True", "InForce");
});

test("beyond the installer's limit: Stalled, NotAllowed, and another controller keeps the policy, too", async () => {
  const budget = async () =>
    (await kubectl("get", "ds", "-n", "kube-system", "-o", "jsonpath={..maxUnavailable}")) === "2";
  await served(2, "--max-unavailable-limit", "5");
  await until("the budget is in force", budget);
  await steer(on, 6);
  await untilCondition(on, "Stalled", "True", "NotAllowed");
  for (const one of running.splice(0)) await one.stop();
  const other = await start(6, "--max-unavailable-limit", "5");
  await until("it leads", () => other.output().includes("this controller writes"));
  await stays("the budget is the one before", budget, 3000);
});

test("the numbers of a served version go up with a metadata-only edit, and no write is to spec", async () => {
  await served("100%");
  const metadata = { labels: { edited: "yes" } };
  await kubectl(
    "patch",
    "secret",
    "additional-pull-secret",
    "-n",
    "kube-system",
    "-p",
    JSON.stringify({ metadata }),
  );
  const secret = JSON.parse(
    await kubectl("get", "secret", "additional-pull-secret", "-n", "kube-system", "-o", "json"),
  ) as { metadata: { resourceVersion: string } };
  const version = secret.metadata.resourceVersion;
  await until("both numbers are the Secret's", async () => {
    const [one] = (await statusOf(on)).sources ?? [];
    return one?.resourceVersion === version && one.servedResourceVersion === version;
  });
  const managers = ((await object()).metadata.managedFields ?? []).filter(({ fieldsV1 }) =>
    Object.hasOwn(fieldsV1 ?? {}, "f:spec"),
  );
  assert.deepEqual(
    managers.map(({ manager }) => manager),
    ["test"],
  );
});

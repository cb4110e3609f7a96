/**
 * The controller runs on a fake API server beside another operator, which at once reverts each
 * change of one object. All parts of the controller are real: informers, Lease, loop, report and
 * status.
 */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporary } from "#test/temporary.ts";
import type { CoreV1Event, V1ServiceAccount } from "@kubernetes/client-node";
import { pino } from "pino";
import type { GlobalPullSecret } from "#api/global-pull-secret.ts";
import { openController } from "#controller/cluster.ts";
import { serveProgram } from "#runtime/run.ts";
import { parseConfig } from "#controller/policy/config.ts";
import { conditionOf } from "#kube/conditions.ts";
import { fieldManager, leaseName } from "#kube/client/ownership.ts";
import { collections, globalPullSecretPath, owned } from "#kube/client/paths.ts";
import { until } from "#test/cluster/await.ts";
import { directly } from "../harness/api/direct.ts";
import { install } from "../harness/api/installed.ts";
import { FakeServer } from "../harness/api/server.ts";

const document = JSON.stringify({ auths: { "a.example": { auth: "dTpw" } } });

test("after the 20th revert of an object, names the operator that reverts it, and waits before the next write", async (t) => {
  await using server = await FakeServer.start();
  const api = server.api("contest");
  install(api);
  const other = directly(api, "other-operator");
  const folder = temporary(t);
  const kubeconfig = join(folder, "kubeconfig");
  writeFileSync(kubeconfig, server.kubeconfig("contest"), { mode: 0o600 });
  let undone = 0;
  api.store.watch(Number(api.store.version), ({ object, type }) => {
    const account = object as unknown as V1ServiceAccount;
    if (type === "DELETED" || account.kind !== "ServiceAccount") return;
    if (account.automountServiceAccountToken === true) return;
    undone += 1;
    const theirs = { ...object, automountServiceAccountToken: true };
    setImmediate(() => void other.replace(owned.serviceAccount, theirs).catch(() => {}));
  });
  await other.create(collections.secrets, {
    kind: "Secret",
    type: "kubernetes.io/dockerconfigjson",
    metadata: { name: "additional-pull-secret" },
    data: { ".dockerconfigjson": Buffer.from(document).toString("base64") },
  });
  const parsed = parseConfig([
    "--kubeconfig",
    kubeconfig,
    "--agent-image",
    "a.example/gps:1",
    "--listen",
    ":0",
  ]);
  assert.ok(parsed.ok);
  const stop = new AbortController();
  const program = { manager: fieldManager, lease: leaseName, open: openController };
  const served = serveProgram(program, parsed.value, {
    log: pino({ level: "silent" }),
    stop,
    lost: () => assert.fail("the Lease was lost"),
  });
  const isReported = async () => {
    let isNamed = false;
    await other.pages<CoreV1Event>(collections.events, {}, (items) => {
      for (const { reason, message = "" } of items)
        if (reason === "WriteContested") isNamed ||= message.includes('"other-operator"');
    });
    return isNamed;
  };
  await until("an Event names it", isReported);
  await until("the status names it", () => {
    const object = api.object<GlobalPullSecret>(globalPullSecretPath);
    const stalled = conditionOf(object?.status, "Stalled");
    return stalled?.status === "True" && stalled.reason === "WriteContested";
  });
  assert.equal(undone, 20);
  const writes = api.asked.filter(
    ({ verb, resource, userAgent, status }) =>
      verb === "patch" &&
      resource === "serviceaccounts" &&
      userAgent === fieldManager &&
      status < 300,
  );
  assert.ok(writes.length >= 20);
  stop.abort();
  await served;
});

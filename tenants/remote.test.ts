import assert from "node:assert/strict";
import { test } from "node:test";
import { pino } from "pino";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { openOrWait } from "./remote.ts";

const log = pino({ level: "silent" });
const cluster = { identity: "https://a.example" } as unknown as Cluster;

test("uses a kubeconfig that is valid when the program starts", () => {
  const usable = () => assert.fail("it starts again");
  assert.equal(openOrWait({ open: () => cluster, log, usable }), cluster);
});

test("L20: without a usable kubeconfig, treats the management cluster as unreachable, and starts again when the kubeconfig can be used", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  let isValid = false;
  let starts = 0;
  const open = () => {
    if (!isValid) throw new Error("it is not valid");
    return cluster;
  };
  const management = openOrWait({ open, log, usable: () => (starts += 1) });
  const isAway = (error: unknown) => error instanceof ApiError && error.status === 0;
  await assert.rejects(management.get("/version"), isAway);
  await assert.rejects(
    management.pages("/api/v1/secrets", {}, () => {}),
    isAway,
  );
  t.mock.timers.tick(30_000);
  assert.equal(starts, 0);
  isValid = true;
  t.mock.timers.tick(29_999);
  assert.equal(starts, 0);
  t.mock.timers.tick(1);
  assert.equal(starts, 1);
});

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Cluster } from "./cluster.ts";
import { temporary } from "#test/temporary.ts";
import { reopened } from "./renewal.ts";

test("opens a changed kubeconfig again, and ignores a half-written kubeconfig", async () => {
  const folder = mkdtempSync(join(tmpdir(), "gps-"));
  const file = join(folder, "kubeconfig");
  let [opened, broken] = [0, false];
  const open = () => {
    if (broken) throw new Error("not a kubeconfig");
    opened += 1;
    const identity = `cluster ${opened}`;
    return { identity, get: async () => identity } as unknown as Cluster;
  };
  writeFileSync(file, "one");
  const cluster = reopened(file, open);
  assert.equal(await cluster.get("/p"), "cluster 1");
  assert.equal(await cluster.get("/p"), "cluster 1");
  broken = true;
  writeFileSync(file, "one and a half");
  assert.equal(await cluster.get("/p"), "cluster 1");
  broken = false;
  assert.equal(await cluster.get("/p"), "cluster 2");
  rmSync(folder, { recursive: true });
  assert.equal(await cluster.get("/p"), "cluster 3");
});

test("makes every kind of request with the renewed credential", async (t) => {
  const file = join(temporary(t), "kubeconfig");
  let opened = 0;
  const open = () => {
    const answer = (opened += 1);
    return new Proxy({} as Cluster, { get: () => async () => answer });
  };
  writeFileSync(file, "one");
  const { identity: _identity, ...calls } = reopened(file, open);
  for (const [at, [name, call]] of Object.entries(calls).entries()) {
    writeFileSync(file, "renewed".repeat(at + 1));
    assert.equal(await (call as () => Promise<number>)(), at + 2, name);
  }
});

/** The dry run of `kubectl pull-secret preflight` against a real API server. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { connect } from "#kube/client/client.ts";
import { loadKubeConfig } from "#kube/load.ts";
import { dryRun } from "#plugin/cluster/dry-run.ts";
import { startCluster } from "../cluster/cluster.ts";

const cluster = await startCluster({ apiOnly: true });
after(async () => await cluster[Symbol.asyncDispose]());

const api = connect(loadKubeConfig(cluster.kubeconfig), () => {});
const inKubeSystem = async (...args: readonly string[]) =>
  await cluster.kubectl(...args, "-n", "kube-system");

test("shows what Pod Security or a quota refuses, and creates nothing", async () => {
  // The controller manager, which does not run here, would create this account.
  await inKubeSystem("create", "serviceaccount", "default");
  const reasons = async () => (await dryRun(api, "r.example/gps:1")).refused;
  assert.deepEqual(await reasons(), []);

  const label = "pod-security.kubernetes.io/enforce";
  await cluster.kubectl("label", "namespace", "kube-system", `${label}=baseline`);
  const [pod] = await reasons();
  assert.equal(pod?.kind, "Pod");
  assert.match(pod.reason, /violates PodSecurity "baseline:latest": .*hostPath volumes/);
  await cluster.kubectl("label", "namespace", "kube-system", `${label}-`);

  await inKubeSystem("create", "quota", "none", "--hard=pods=0");
  const status = JSON.stringify({ status: { hard: { pods: "0" }, used: { pods: "0" } } });
  await inKubeSystem(
    "patch",
    "quota",
    "none",
    "--subresource=status",
    "--type=merge",
    "-p",
    status,
  );
  assert.match((await reasons())[0]?.reason ?? "", /exceeded quota: none, requested: pods=1/);

  assert.equal(await inKubeSystem("get", "daemonsets,pods,secrets", "--output=name"), "");
});

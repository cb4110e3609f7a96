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

type Reasons = Readonly<Record<string, string>>;

/** Kind → why the API server refuses it. Fails if a result is unknown. */
async function refused(): Promise<Reasons> {
  const settings = { image: "r.example/gps:1", mode: "Restart", flags: {} } as const;
  return Object.fromEntries(
    (await dryRun(api, settings)).flatMap((trial) => {
      if (trial.result === "accepted") return [];
      assert.equal(trial.result, "refused", trial.reason);
      return [[trial.kind, trial.reason]];
    }),
  );
}

async function quota(resource: string): Promise<void> {
  await inKubeSystem("create", "quota", "none", `--hard=${resource}=0`);
  const status = { hard: { [resource]: "0" }, used: { [resource]: "0" } };
  const patch = JSON.stringify({ status });
  await inKubeSystem("patch", "quota", "none", "--subresource=status", "--type=merge", "-p", patch);
}

test("shows what Pod Security or a quota refuses, and creates nothing", async () => {
  // The controller manager, which does not run here, would create this account.
  await inKubeSystem("create", "serviceaccount", "default");
  assert.deepEqual(await refused(), {});

  const label = "pod-security.kubernetes.io/enforce";
  await cluster.kubectl("label", "namespace", "kube-system", `${label}=baseline`);
  assert.match(
    (await refused())["Pod"] ?? "",
    /violates PodSecurity "baseline:latest": .*hostPath volumes/,
  );
  await cluster.kubectl("label", "namespace", "kube-system", `${label}-`);

  for (const [kind, resource] of [
    ["Pod", "pods"],
    ["Secret", "secrets"],
  ] as const) {
    await quota(resource);
    const reasons = await refused();
    assert.deepEqual(Object.keys(reasons), [kind]);
    assert.match(reasons[kind] ?? "", new RegExp(`exceeded quota: none, requested: ${resource}=1`));
    await inKubeSystem("delete", "quota", "none");
  }
  assert.equal(await inKubeSystem("get", "daemonsets,pods,secrets", "--output=name"), "");
});

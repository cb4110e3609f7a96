/** Rewrites of a Secret that mean the same, which must cost nothing. */
import type { V1Secret } from "@kubernetes/client-node";
import * as names from "#contract/names.ts";
import type { GlobalPullSecret } from "#api/global-pull-secret.ts";
import { globalPullSecretPath } from "#kube/client/paths.ts";
import { until } from "#test/cluster/await.ts";
import { auditEnd } from "#test/cluster/audit.ts";
import { controllerWrites } from "../observe/audit.ts";
import type { Testbed } from "../testbed/testbed.ts";
import type { Measurement } from "../result/bench.ts";
import { calm } from "../testbed/change.ts";
import { additional, putAdditional } from "../testbed/objects.ts";
import { measure } from "../result/result.ts";

const rewrites = 1000;

export const noop: Measurement = {
  name: "noop",
  run: async (bench) => {
    const testbed = await bench.real(1);
    const entries = [1, 2, 3].map(
      (index) =>
        [`r${index}.example`, { auth: Buffer.from(`u:${index}`).toString("base64") }] as const,
    );
    const text = (turn: number) => {
      const order = turn % 2 === 0 ? entries : entries.toReversed();
      return JSON.stringify({ auths: Object.fromEntries(order) }) + " ".repeat(turn);
    };
    const since = Date.now();
    await putAdditional(testbed.api, text(0));
    await testbed.global.first("it is published", ({ gone }) => !gone, since);
    await calm();
    await calm();
    await calm();
    const before = await standing(testbed);
    const [mark, begun] = [auditEnd(testbed.cluster), Date.now()];
    for (let turn = 1; turn <= rewrites; turn++) await putAdditional(testbed.api, text(turn));
    const version = await versionOf(testbed);
    await until("the last one is told", async () => {
      const { status } = (await testbed.api.get<GlobalPullSecret>(globalPullSecretPath)) ?? {};
      return status?.sources?.[0]?.resourceVersion === version;
    });
    const after = await standing(testbed);
    const writes = controllerWrites(testbed.cluster, mark);
    const seconds = (Date.now() - begun) / 1000;
    const row = (name: string, unit: string, value: number, atMost = 0) =>
      measure({ name: `noop, ${name}`, unit, atMost }, [value]);
    return [
      row("restarts", "restarts", Number(before.invocation !== after.invocation)),
      row("revisions", "revisions", after.revision - before.revision),
      row("writes", "writes", writes.changes),
      // Each rewrite is another resourceVersion, which status tells; n writes have n - 1 pauses.
      row("status", "writes/s", (writes.status - 1) / seconds, 1),
    ];
  },
};

async function versionOf({ api }: Testbed): Promise<string | undefined> {
  return (await api.get<V1Secret>(additional))?.metadata?.resourceVersion;
}

async function standing({
  cluster,
  nodes,
}: Testbed): Promise<{ revision: number; invocation: string | undefined }> {
  const path = `jsonpath={.data.${names.secretKeys.revision}}`;
  const revision = await cluster.kubectl(
    "get",
    "secret",
    names.globalSecretName,
    "-n",
    names.namespace,
    "-o",
    path,
  );
  const unit = await nodes[0]?.node.unit(["InvocationID"]);
  return {
    revision: Number(Buffer.from(revision, "base64").toString()),
    invocation: unit?.InvocationID,
  };
}

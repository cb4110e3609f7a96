import type { V1Secret } from "@kubernetes/client-node";
import assert from "node:assert/strict";
import { test } from "node:test";
import { accept } from "./accept.ts";
import type { Cluster } from "./kube.ts";
import { createMetrics } from "./metrics.ts";
import type { Snapshot } from "./observe.ts";
import { createReport } from "./report.ts";

const policy = { conflicts: "additional", protect: [] } as const;

/** Reasons and occasions of what is announced for these documents, one after the other. */
async function told(...documents: readonly string[]): Promise<string[]> {
  const said = new Set<string>();
  const report = createReport({
    cluster: {} as Cluster, // a verdict asks nothing
    announce: async ({ reason, about }) => void said.add(`${reason} ${about}`),
    metrics: createMetrics(),
    now: () => new Date(),
    drainDeadlineSeconds: 0,
    log: () => {},
  });
  for (const [index, document] of documents.entries()) {
    const additional: V1Secret = {
      type: "kubernetes.io/dockerconfigjson",
      metadata: { uid: "u", resourceVersion: `v${index}` },
      data: { ".dockerconfigjson": Buffer.from(document).toString("base64") },
    };
    const sources = { additional, original: undefined, originalName: undefined, published: undefined };
    await report.verdict(accept(sources, policy), { ...sources } as unknown as Snapshot);
  }
  return [...said];
}

test("rewrites that mean the same are told of once: a thousand of them must not make a thousand Events", async () => {
  const auths = '{"auths":{"a.io":{"auth":"dTpw"}}}';
  assert.deepEqual(await told(auths, ` ${auths}`, JSON.stringify(JSON.parse(auths), null, 2)), ["Accepted v0"]);
});

test("another meaning is told, and so is the return to an earlier one, and each refused edit", async () => {
  const [one, two] = ['{"auths":{"a.io":{"auth":"dTpw"}}}', '{"auths":{"a.io":{"auth":"dTpx"}}}'];
  assert.deepEqual(await told(one, two, one), ["Accepted v0", "Accepted v1", "Accepted v2"]);
  assert.deepEqual(await told(one, "{", "{ ", one), ["Accepted v0", "Rejected v1", "Rejected v2", "Accepted v3"]);
});

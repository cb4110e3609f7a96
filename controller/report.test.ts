import type { V1Secret } from "@kubernetes/client-node";
import assert from "node:assert/strict";
import { test } from "node:test";
import { accept } from "./accept.ts";
import type { Announce } from "./events.ts";
import type { Cluster } from "./kube.ts";
import type { Condition } from "./memory.ts";
import { createMetrics } from "./metrics.ts";
import type { Snapshot } from "./observe.ts";
import { annotations } from "./ownership.ts";
import type { Report } from "./reconcile.ts";
import { createReport } from "./report.ts";
import type { Turn } from "./rollout.ts";

const policy = { conflicts: "additional", protect: [] } as const;

function reportWith(cluster: Partial<Cluster>, announce: Announce): Report {
  return createReport({
    cluster: cluster as Cluster,
    announce,
    metrics: createMetrics(),
    now: () => new Date(),
    drainDeadlineSeconds: 0,
    log: () => {},
  });
}

/** Reasons and occasions of what is announced for these documents, one after the other. */
async function told(...documents: readonly string[]): Promise<string[]> {
  const said = new Set<string>();
  // A verdict asks the cluster nothing.
  const report = reportWith({}, async ({ reason, about }) => void said.add(`${reason} ${about}`));
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

/** The RolledOut condition that is written after this turn, if any; `before`: its status so far, of the same revision. */
async function concluded(turn: Turn, before?: "True" | "False"): Promise<string | undefined> {
  let written: string | undefined;
  const apply = (_path: string, object: V1Secret) => {
    written = object.metadata?.annotations?.[annotations.conditions];
    return Promise.resolve(object);
  };
  const report = reportWith({ apply: apply as unknown as Cluster["apply"] }, () => Promise.resolve());
  const condition = { type: "RolledOut", status: before, reason: "", message: "", revision: 2, lastTransitionTime: "" };
  const said = { [annotations.conditions]: JSON.stringify(before === undefined ? [] : [condition]) };
  const global: V1Secret = { metadata: { uid: "u", annotations: said } };
  const progress = {
    turn,
    revision: 2,
    published: true,
    global,
    view: undefined,
    standing: undefined,
    fates: [],
    nudgeIn: undefined,
  };
  const verdict = { wanted: undefined, problems: { additional: [], original: [] }, warnings: [] };
  await report.progress(progress, verdict, {} as Snapshot);
  const conditions = JSON.parse(written ?? "[]") as Condition[];
  return conditions.find(({ type }) => type === "RolledOut")?.status;
}

const strategy = { stage: "wave", maxUnavailable: 1 } as const;
const roll = { kind: "roll", revision: "published", strategy, reason: "" } as const;

test("what was asked for just now is told by the run that sees it begin, while the nodes need the API", async () => {
  assert.equal(await concluded(roll), undefined);
  assert.equal(await concluded(roll, "False"), undefined);
  assert.equal(await concluded({ kind: "wait", phase: "wave", strategy, reason: "", again: undefined }), "False");
});

test("an upgrade of the agents is told at once: what is out is no longer out", async () => {
  assert.equal(await concluded(roll, "True"), "False");
});

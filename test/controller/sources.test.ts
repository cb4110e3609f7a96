/**
 * Several sources on a real API server, with the rights of manifests/ and the additional rights
 * that each source needs.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { V1Secret } from "@kubernetes/client-node";
import { until } from "../cluster/await.ts";
import * as plane from "./plane.ts";
import { document, paths } from "./plane.ts";
import { steer } from "./steer.ts";

let on: plane.Plane;
let controller: plane.Controller;

const source = (name: string, priority: number) => ({
  name,
  secretRef: { name: `${name}-pull` },
  priority,
});

before(async () => {
  on = await plane.startPlane();
  await steer(on, {
    sources: [source("low", 1), source("high", 2)],
    withdrawal: { grace: "1s" },
  });
  controller = plane.startController(on.kubeconfig);
});
after(async () => {
  await controller.stop();
  await on[Symbol.asyncDispose]();
});

const text = async (key: string) => {
  const global = await on.api.get<V1Secret>(paths.global);
  return Buffer.from(global?.data?.[key] ?? "", "base64").toString();
};
/** The published map of registry → source, as JSON. */
const published = async () => JSON.stringify(JSON.parse((await text("sources")) || "{}"));
const untilSources = (expected: object) =>
  until(
    `the sources are ${JSON.stringify(expected)}`,
    async () => (await published()) === JSON.stringify(expected),
    { timeout: 20_000, seen: published },
  );

test("continues without the right to read a source, and reports in an Event the command that grants this right", async () => {
  await plane.declare(on, document({ "low.example": "l:1", "quay.io": "low:1" }), "low-pull");
  await plane.declare(on, document({ "high.example": "h:1", "quay.io": "high:1" }), "high-pull");
  await plane.declare(on, document({ "a.example": "a:1" }));
  await untilSources({ "a.example": "additional" });
  for (const name of ["low", "high"]) {
    const { message } = await plane.untilEvent(on, "SourceRejected", `GPS311 ${name}:`);
    const line = /grant it: (.*?) \(/.exec(message)?.[1] ?? assert.fail(message);
    for (const command of line.split(" && "))
      await on.cluster.kubectl(...command.split(" ").slice(1));
  }
  await untilSources({
    "a.example": "additional",
    "high.example": "high",
    "low.example": "low",
    "quay.io": "high",
  });
});

test("continues when one source is invalid, and removes an entry of a deleted source only if no other source has it", async () => {
  await plane.declare(on, '{"auths":{"low.example":{"auth":"%%%"}}}', "low-pull");
  await plane.untilEvent(on, "SourceRejected", "GPS115 low:");
  const rotated = Buffer.from("h:2").toString("base64");
  await plane.declare(on, document({ "high.example": "h:2", "quay.io": "high:1" }), "high-pull");
  await until(
    "the other's change is published",
    async () => (await text(".dockerconfigjson")).includes(rotated),
    { timeout: 10_000 },
  );
  assert.match(await published(), /"low\.example":"low"/);
  await on.cluster.kubectl("delete", "secret", "high-pull", "-n", "kube-system");
  await untilSources({ "a.example": "additional", "low.example": "low", "quay.io": "low" });
});

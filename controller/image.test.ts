import assert from "node:assert/strict";
import { test } from "node:test";
import type { Cluster } from "#kube/client/cluster.ts";
import { imageOf } from "./image.ts";
import { parseConfig } from "./policy/config.ts";

const pod = {
  spec: {
    imagePullSecrets: [{ name: "own" }],
    containers: [
      { name: "someone's", image: "other.example/x:1" },
      { name: "controller", image: "r.example/gps:1" },
    ],
  },
};

/** A cluster with the controller's own pod. */
const clusterWith = (own: object) => ({ get: async () => own }) as unknown as Cluster;

async function asked(cluster: Cluster, name: string | undefined, ...argv: string[]) {
  const parsed = parseConfig(argv);
  assert.ok(parsed.ok);
  if (name === undefined) delete process.env["POD_NAME"];
  else process.env["POD_NAME"] = name;
  try {
    return await imageOf(parsed.value, cluster);
  } finally {
    delete process.env["POD_NAME"];
  }
}

const running = clusterWith(pod);

test("runs the controller's own image as its pod names it, with its pull secrets", async () => {
  const expected = { image: "r.example/gps:1", imagePullSecrets: ["own"] };
  assert.deepEqual(await asked(running, "me"), expected);
});

/** A cluster in which the controller has no right to read its own pod. */
const refusing = {
  get: () => Promise.reject(new Error("forbidden")),
} as unknown as Cluster;

test("with --agent-image, uses the image as written, inherits no pull secrets, and reads no pod", async () => {
  const image = "--agent-image=r.example/gps:2";
  const secret = "--agent-image-pull-secret=a";
  for (const guest of [[], ["--guest-kubeconfig=/g", "--namespace=clusters-a"]]) {
    const none = { image: "r.example/gps:2", imagePullSecrets: [] };
    assert.deepEqual(await asked(refusing, "me", image, ...guest), none);
    const named = { ...none, imagePullSecrets: ["a"] };
    assert.deepEqual(await asked(refusing, "me", image, secret, ...guest), named);
  }
});

test("uses --agent-image-pull-secret instead of the pod's own pull secrets", async () => {
  const agentImage = await asked(running, "me", "--agent-image-pull-secret=a");
  assert.deepEqual(agentImage, { image: "r.example/gps:1", imagePullSecrets: ["a"] });
});

test("gives a guest's agents the controller's image, and none of its pull secrets", async () => {
  const guest = ["--guest-kubeconfig=/g", "--namespace=clusters-a"];
  const expected = { image: "r.example/gps:1", imagePullSecrets: [] };
  assert.deepEqual(await asked(running, "me", ...guest), expected);
});

test("requires --agent-image outside a pod, and inherits no pull secrets", async () => {
  const expected = { image: "i:1", imagePullSecrets: [] };
  assert.deepEqual(await asked(running, undefined, "--agent-image=i:1"), expected);
  await assert.rejects(asked(running, undefined), /^Error: --agent-image: missing; set it/);
});

test("reports a pod that is not the controller's", async () => {
  const strange = clusterWith({ spec: { containers: [] } });
  await assert.rejects(asked(strange, "me"), /kube-system\/pods\/me has no container "controller"/);
});

/** Other clients edit our objects. */
import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { after, before, test } from "node:test";
import type { V1DaemonSet, V1Role, V1RoleBinding, V1Secret } from "@kubernetes/client-node";
import { role } from "#controller/objects/daemonset.ts";
import { until } from "../cluster/await.ts";
import { NodesDriver } from "../harness/nodes/drive.ts";
import * as plane from "./plane.ts";
import { document, paths } from "./plane.ts";

let on: plane.Plane;
let kubelets: NodesDriver;
let controller: plane.Controller;
const first = document({ "quay.io": "robot:first" });

before(async () => {
  on = await plane.startPlane();
  kubelets = new NodesDriver(on.api).start();
  await kubelets.add("a");
  controller = plane.startController(on.kubeconfig);
});
after(async () => {
  await controller[Symbol.asyncDispose]();
  await kubelets[Symbol.asyncDispose]();
  await on[Symbol.asyncDispose]();
});

const kubectl = (...args: string[]) => on.cluster.kubectl("-n", "kube-system", ...args);
const syncer = "global-pull-secret-syncer";
/**
 * Declares the first content and waits for its rollout. Each test continues with the objects of the
 * previous test, because separate deployments would take three more minutes.
 */
const deployed = () => plane.deployed(on, first);

const edits: readonly (readonly [
  sentence: string,
  kind: string,
  patch: object,
  repaired: () => Promise<boolean>,
])[] = [
  [
    "the agent's image",
    "daemonset",
    { spec: { template: { spec: { containers: [{ name: "agent", image: "evil" }] } } } },
    async () => (await podSpec())?.containers[0]?.image === plane.agentImage,
  ],
  [
    "the budget of an upgrade",
    "daemonset",
    {
      spec: { updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "90%" } } },
    },
    async () => {
      const { spec } = (await on.api.get<V1DaemonSet>(paths.daemonSet)) ?? {};
      return typeof spec?.updateStrategy?.rollingUpdate?.maxUnavailable === "number";
    },
  ],
  [
    "minReadySeconds",
    "daemonset",
    { spec: { minReadySeconds: 0 } },
    async () => (await on.api.get<V1DaemonSet>(paths.daemonSet))?.spec?.minReadySeconds === 30,
  ],
  [
    "a right of the agents",
    "role",
    { rules: [{ apiGroups: [""], resources: ["secrets"], verbs: ["get"] }] },
    async () => isDeepStrictEqual((await on.api.get<V1Role>(paths.role))?.rules, role.rules),
  ],
  [
    "a subject of the RoleBinding",
    "rolebinding",
    { subjects: [{ kind: "User", name: "eve", apiGroup: "rbac.authorization.k8s.io" }] },
    async () =>
      (await on.api.get<V1RoleBinding>(paths.roleBinding))?.subjects?.[0]?.name === syncer,
  ],
  [
    "the document",
    "secret",
    { data: { ".dockerconfigjson": Buffer.from('{"auths":{}}').toString("base64") } },
    async () => (await plane.published(on))?.document === first,
  ],
  [
    "the salt",
    "secret",
    { data: { salt: Buffer.alloc(32).toString("base64") } },
    async () => (await valueOf("salt")) !== Buffer.alloc(32).toString("base64"),
  ],
  [
    "the intent",
    "secret",
    { data: { intent: Buffer.from("release").toString("base64") } },
    async () => (await valueOf("intent")) === Buffer.from("apply").toString("base64"),
  ],
  [
    "our label",
    "secret",
    { metadata: { labels: { "app.kubernetes.io/managed-by": null } } },
    async () =>
      (await on.api.get<V1Secret>(paths.global))?.metadata?.labels?.[
        "app.kubernetes.io/managed-by"
      ] === "global-pull-secret",
  ],
];

const valueOf = async (key: string) => (await on.api.get<V1Secret>(paths.global))?.data?.[key];

test("creates a deleted NodePullSecret again, and gets the agent's report again", async () => {
  const revision = await deployed();
  const [before] = await plane.nodePullSecrets(on);
  await kubectl("delete", "nps", "a");
  const seen = () => plane.nodePullSecrets(on);
  await until(
    "the agent has reported the revision",
    async () => (await seen())[0]?.status?.revision === revision,
    { seen },
  );
  const [object] = await plane.nodePullSecrets(on);
  assert.notEqual(object?.metadata.uid, before?.metadata.uid);
  assert.deepEqual(
    object?.metadata.ownerReferences?.map(({ kind, name }) => `${kind} ${name}`),
    ["Node a"],
  );
});

async function isRolledOut(): Promise<boolean> {
  const now = await plane.published(on);
  return now?.document === first && now.served === now.revision;
}

const podSpec = async () => (await on.api.get<V1DaemonSet>(paths.daemonSet))?.spec?.template.spec;

for (const [sentence, kind, patch, repaired] of edits) {
  test(`repairs an edit of ${sentence} (${kind}) within seconds, and then sends nothing`, async () => {
    await deployed();
    const name = kind === "secret" ? "global-pull-secret" : syncer;
    await kubectl("patch", kind, name, "-p", JSON.stringify(patch));
    await until("the edit is repaired", repaired, { timeout: 10_000 });
    await until("the rollout is over", isRolledOut);
    // If the controller still repaired the object again and again, it would write at least once in
    // every 1.5 s.
    const recently = () => plane.writes(on, new Date(Date.now() - 1500).toISOString());
    await until("the controller has written nothing for 1.5 s", () => recently().length === 0, {
      seen: recently,
    });
  });
}

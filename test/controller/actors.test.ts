/**
 * SECURITY.md's table of trusted actors, on a real API server. Each test impersonates an actor with
 * exactly the rights of its row.
 */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import type { V1DaemonSet } from "@kubernetes/client-node";
import { stays, until } from "../cluster/await.ts";
import * as rights from "../cluster/rights.ts";
import { granted } from "./granted.ts";
import * as plane from "./plane.ts";
import { document, paths } from "./plane.ts";
import { objectOf, steer, untilCondition } from "./steer.ts";

let on: plane.Plane;
const running: plane.Controller[] = [];

before(async () => {
  on = await plane.startPlane();
});
after(() => on[Symbol.asyncDispose]());
afterEach(async () => {
  for (const controller of running.splice(0)) await controller[Symbol.asyncDispose]();
  await plane.wipe(on);
  // Replaces what the actor wrote, so that it does not influence the next test.
  await kubectl("delete", "gps", "cluster", "--ignore-not-found");
  await on.cluster.apply({ ...objectOf({}), spec: {} });
});

const kubectl = (...args: string[]) => on.cluster.kubectl(...args);
const system = ["-n", "kube-system"];
const controller = "system:serviceaccount:kube-system:global-pull-secret-controller";

/**
 * Creates a user with these rights in kube-system. If `where` is empty, the rights are for the
 * whole cluster.
 */
async function userWith(name: string, verbs: string, resource: string, where = system) {
  const kind = where.length > 0 ? ["role", "rolebinding"] : ["clusterrole", "clusterrolebinding"];
  const [role = "", binding = ""] = kind;
  await kubectl("create", role, name, `--verb=${verbs}`, `--resource=${resource}`, ...where);
  await kubectl("create", binding, name, `--${role}=${name}`, `--user=${name}`, ...where);
  const [verb = ""] = verbs.split(",");
  await until(`${name} may`, () => may(name, verb, resource));
}

const may = (user: string, verb: string, what: string, namespace = "kube-system") =>
  rights.may(on.cluster, user, verb, what, namespace);

async function start(...flags: string[]): Promise<plane.Controller> {
  const controller = plane.startController(on.kubeconfig, ...flags);
  running.push(controller);
  return controller;
}

/** As this user, writes a pull secret with this text. */
async function declareAs(user: string, text: string, name = "additional-pull-secret") {
  const stringData = JSON.stringify({ ".dockerconfigjson": text });
  const existing = await on.api.get(`${paths.secrets}/${name}`);
  const how = ["secret", "generic", name, "--type=kubernetes.io/dockerconfigjson", ...system];
  if (existing === undefined) {
    await kubectl("create", ...how, `--from-literal=.dockerconfigjson=${text}`, `--as=${user}`);
    return;
  }
  const patch = ["--type=merge", "-p", `{"stringData":${stringData}}`];
  await kubectl("patch", "secret", name, ...system, ...patch, `--as=${user}`);
}

const published = async () => (await plane.published(on))?.document ?? "";

/** Actor, as in the first column of SECURITY.md's table → the test of this row. */
const rows: Readonly<Record<string, () => Promise<void>>> = {
  async "who may write a source, such as `additional-pull-secret`"() {
    const user = "secret-writer";
    await userWith(user, "get,create,patch", "secrets");
    await steer(on, { rollout: { maxUnavailable: "100%" }, protectedRegistries: ["safe.example"] });
    await plane.declare(
      on,
      document({ "safe.example": "o:1", "own.example": "o:2" }),
      "pull-secret",
    );
    await start("--original", "kube-system/pull-secret");
    const mine = JSON.parse(document({ "own.example": "w:1" })) as object;
    await declareAs(user, JSON.stringify({ ...mine, credsStore: "evil", credHelpers: { a: "b" } }));
    const pair = Buffer.from("w:1").toString("base64");
    await until("the user's credential displaces the original's", async () =>
      (await published()).includes(pair),
    );
    assert.doesNotMatch(await published(), /credsStore|credHelpers|evil/);
    for (const text of ['{"auths":{"x.example":{"auth":"%%%"}}}', '{"auths":[]}']) {
      await declareAs(user, text);
      await untilCondition(on, "Ready", "False", "SourceRejected");
    }
    await declareAs(user, document({ "safe.example": "w:3" }));
    await plane.untilEvent(on, "Rejected", "safe.example");
    assert.ok((await published()).includes(pair), "the last accepted content stays");
    assert.equal(await may(user, "patch", "globalpullsecrets.globalpullsecret.io/cluster"), false);
  },

  async "the controller"() {
    const no: readonly (readonly [verb: string, what: string, namespace?: string])[] = [
      ["get", "secrets/another"],
      ["list", "secrets"],
      ["watch", "secrets"],
      ["patch", "secrets/additional-pull-secret"],
      ["delete", "secrets/additional-pull-secret"],
      ["get", "secrets/global-pull-secret", "default"],
      ["create", "pods"],
      ["create", "pods:exec"],
      ["get", "pods:exec"],
      ["create", "serviceaccounts:token"],
      ["patch", "nodes"],
      ["patch", "pods"],
      ["delete", "pods"],
      ["patch", "daemonsets.apps/another"],
      ["create", "deployments.apps"],
      ["patch", "roles.rbac.authorization.k8s.io/another"],
      ["bind", "clusterroles.rbac.authorization.k8s.io/cluster-admin"],
      ["escalate", "roles.rbac.authorization.k8s.io/global-pull-secret-syncer"],
      ["patch", "leases.coordination.k8s.io/another"],
      ["delete", "globalpullsecrets.globalpullsecret.io/cluster"],
      ["impersonate", "users"],
    ];
    for (const [verb, what, namespace] of no)
      assert.equal(await may(controller, verb, what, namespace), false, `${verb} ${what}`);
    const yes = [
      ["get", "secrets/additional-pull-secret"],
      ["patch", "secrets/global-pull-secret"],
      ["patch", "daemonsets.apps/global-pull-secret-syncer"],
      ["list", "nodes"],
      ["list", "pods"],
      ["patch", "nodepullsecrets.globalpullsecret.io"],
    ] as const;
    for (const [verb, what] of yes)
      assert.equal(await may(controller, verb, what), true, `${verb} ${what}`);
  },

  async "who may write GlobalPullSecret"() {
    const user = "steerer";
    await userWith(user, "get,patch", "globalpullsecrets.globalpullsecret.io", []);
    const patch = (spec: object) =>
      kubectl(
        "patch",
        "gps",
        "cluster",
        "--type=merge",
        "-p",
        JSON.stringify({ spec }),
        `--as=${user}`,
      );
    await steer(on, "100%");
    await start("--max-unavailable-limit", "50%", "--protect", "safe.example");
    await patch({ rollout: { maxUnavailable: "51%" } });
    await untilCondition(on, "Stalled", "True", "NotAllowed");
    const sources = [{ name: "theirs", secretRef: { name: "somebodys" } }];
    await plane.declare(on, document({ "hidden.example": "h:1" }), "somebodys");
    await plane.declare(on, document({ "safe.example": "a:1" }));
    await patch({ rollout: { maxUnavailable: "50%" }, sources, protectedRegistries: [] });
    await plane.untilEvent(on, "SourceRejected", "GPS311 theirs:");
    await plane.untilEvent(on, "Rejected", "safe.example");
    assert.equal(await published(), "", "a source that only this user requested is published");
    await plane.declare(on, document({ "quay.io": "a:1" }));
    await until("the allowed part is published", async () =>
      (await published()).includes("quay.io"),
    );
    await patch({ managementState: "Paused" });
    await untilCondition(on, "Ready", "True", "Paused");
    for (const what of ["secrets/somebodys", "daemonsets.apps/global-pull-secret-syncer"])
      for (const verb of ["get", "patch"])
        assert.equal(await may(user, verb, what), false, `${verb} ${what}`);
    await kubectl("delete", "secret", "somebodys", ...system);
  },

  async "who may write Leases in kube-system"() {
    const user = "lease-writer";
    await userWith(user, "create,get,update", "leases.coordination.k8s.io");
    await plane.freeLease(on);
    const spec = {
      holderIdentity: "nobody",
      leaseDurationSeconds: 3600,
      acquireTime: new Date().toISOString().replace("Z", "000Z"),
      renewTime: new Date().toISOString().replace("Z", "000Z"),
    };
    const metadata = { name: "global-pull-secret-controller", namespace: "kube-system" };
    const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec };
    const file = join(on.cluster.directory, "lease.json");
    writeFileSync(file, JSON.stringify(lease));
    await kubectl("create", "-f", file, `--as=${user}`);
    const controller = await start();
    await plane.declare(on, document({ "quay.io": "a:1" }));
    await until("the controller is on standby", () => controller.output().includes("nobody"));
    await stays(
      "nothing is deployed",
      async () => (await on.api.get(paths.state)) === undefined,
      3000,
    );
    assert.equal(await may(user, "patch", "secrets/global-pull-secret"), false);
    await plane.freeLease(on);
  },

  async "the agent (one pod a node)"() {
    await steer(on, "100%");
    await start();
    await plane.declare(on, document({ "quay.io": "a:1" }));
    const set = await until("the DaemonSet is there", () =>
      on.api.get<V1DaemonSet>(paths.daemonSet),
    );
    assert.equal(set.spec?.template.spec?.automountServiceAccountToken, false);
    const account = "system:serviceaccount:kube-system:global-pull-secret-syncer";
    await until("the agents have their rights", () =>
      may(account, "patch", "nodepullsecrets.globalpullsecret.io:status"),
    );
    assert.deepEqual((await granted(on, account)).toSorted(), [
      "get coordination.k8s.io/leases kube-node-lease/*",
      "list globalpullsecret.io/nodepullsecrets kube-system/*",
      "list secrets kube-system/global-pull-secret",
      "patch globalpullsecret.io/nodepullsecrets/status kube-system/*",
      "watch globalpullsecret.io/nodepullsecrets kube-system/*",
      "watch secrets kube-system/global-pull-secret",
    ]);
  },
};

for (const [actor, shown] of Object.entries(rows))
  test(`${actor}: can do only what SECURITY.md states`, shown);

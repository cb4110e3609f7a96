/**
 * The component manifests/fleet/narrow, as kustomize renders it, narrows the rights of the fleet's
 * account. A real API server reports these rights, and the fleet keeps serving.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { until } from "../cluster/await.ts";
import { may } from "../cluster/rights.ts";
import { document, pullSecret } from "../controller/plane.ts";
import { kustomized } from "../install/kustomize.ts";
import * as fleet from "./fleet.ts";
import { fleetSecret, labelled, untilPlaced, untilState } from "./fleet.ts";

let home: fleet.Home;
let guest: fleet.GuestCluster;
let controller: ReturnType<typeof fleet.startFleet> | undefined;

before(async () => {
  [home, guest] = await Promise.all([fleet.startHome(), fleet.startGuest()]);
});
after(async () => {
  await controller?.[Symbol.asyncDispose]();
  for (const member of [home, guest]) member?.cluster.down();
});

const account = "system:serviceaccount:kube-system:global-pull-secret-fleet";
const mayRead = (namespace: string, secret: string) =>
  may(home.cluster, account, "get", `secrets/${secret}`, namespace);

/** The Role and RoleBinding for one cluster's namespace, from docs/extend/fleet.md. */
const granted = (namespace: string) =>
  kustomized({
    resources: ["fleet/narrow/namespace"],
    namespace,
    patches: [
      {
        target: { kind: "Role" },
        patch: `- { op: replace, path: /rules/0/resourceNames/0, value: ${namespace}-kubeconfig }`,
      },
    ],
  });

test("with manifests/fleet/narrow, reads only the granted kubeconfigs and no other Secret, and serves their clusters", async () => {
  for (const name of ["guest-a", "guest-b"])
    await fleet.declareGuest(home, name, guest.kubeconfig, labelled);
  assert.equal(await mayRead("default", "any"), true, "the account cannot read any Secret");
  const rights = await kustomized({ resources: ["fleet"], components: ["fleet/narrow"] });
  await home.cluster.apply(...rights.filter(({ kind }) => kind.startsWith("ClusterRole")));
  await home.cluster.apply(...(await granted("guest-a")));
  const rows: readonly (readonly [namespace: string, secret: string, may: boolean])[] = [
    ["guest-a", "guest-a-kubeconfig", true],
    ["guest-a", "other", false],
    ["guest-b", "guest-b-kubeconfig", false],
    ["default", "any", false],
    ["kube-system", "any", false],
    ["kube-system", "source-pull-secret", true],
  ];
  for (const [namespace, secret, is] of rows)
    await until(
      `${namespace}/${secret} may ${is ? "" : "not "}be read`,
      async () => (await mayRead(namespace, secret)) === is,
    );

  await home.cluster.apply(fleetSecret());
  controller = fleet.startFleet(home);
  const content = document({ "quay.io": "robot:1" });
  await home.cluster.apply(pullSecret("source-pull-secret", content));
  await untilPlaced(guest, { ".dockerconfigjson": Buffer.from(content).toString("base64") });
  await untilState(home, "guest-a", "Done");
  // Without the right to read guest-b's kubeconfig, status reports guest-b as Failed, and guest-a
  // is served. With the right, the fleet serves guest-b too.
  await untilState(home, "guest-b", "Failed", "403 Forbidden");
  await home.cluster.apply(...(await granted("guest-b")));
  await untilState(home, "guest-b", "Done");
});

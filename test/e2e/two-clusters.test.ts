/**
 * Two clusters with a real node each, which reach one another: what serves one from the other runs
 * there as a pod, and is set up as its page tells.
 */
import assert from "node:assert/strict";
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { until } from "../cluster/await.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import { buildImage } from "../cluster/kit/image.ts";
import { document, pullSecret } from "../controller/plane.ts";
import * as fleet from "../fleet/fleet.ts";
import { chart, helmOn } from "../install/helm.ts";
import { deskAt, follow, pageOf, type Desk } from "../page.ts";
import { auths, kubelets } from "./nodes.ts";
import { podOn, pullRefused, untilState } from "./pods.ts";
import * as product from "./product.ts";

const root = join(import.meta.dirname, "../..");
const password = "planted-5b1e";
/** HyperShift's name for it. */
const namespace = "clusters-guest";

let management: Cluster;
let guest: Cluster;
let image: string;

before(async () => {
  [management, guest] = await Promise.all([startCluster({ nodes: 1 }), startCluster({ nodes: 1 })]);
  await management.connect(guest);
  // One name in both clusters, as of one registry.
  [image] = await Promise.all([buildImage(management), buildImage(guest)]);
});
after(() => [management, guest].forEach((one) => one?.down()));

/** The page's place for the image, filled. */
function withImage(text: string): string {
  const at = image.lastIndexOf(":");
  return text
    .replace(/ *newName: .*\n/, "")
    .replace(/newTag: .*/, `newName: ${image.slice(0, at)}\n    newTag: ${image.slice(at + 1)}`);
}

function deskIn({ directory }: Cluster, contexts: Readonly<Record<string, Cluster>>): Desk {
  const folder = join(directory, "desk");
  rmSync(folder, { recursive: true, force: true });
  return deskAt(folder, { contexts, env: { PASSWORD: password } });
}

/** What HyperShift has made in the management cluster, and a user of the registry. */
async function prepareHosted(): Promise<void> {
  const { registry } = guest;
  await registry.setUsers({ ...registry.users, robot: password });
  await management.kubectl("create", "namespace", namespace);
  const original = pullSecret("pull-secret", document({ "o.example": "orig:1" }));
  await management.apply(
    { ...original, metadata: { name: "pull-secret", namespace } },
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "admin-kubeconfig", namespace },
      stringData: { kubeconfig: readFileSync(guest.kubeconfig, "utf8") },
    },
  );
}

const theNode = () => guest.nodes[0] ?? assert.fail("no node");

/** Waits until no pod of ours is in the namespace of the management cluster. */
async function untilNoPods(where: string): Promise<void> {
  await until("its pods are gone", async () => {
    const pods = await management.get<{ items: object[] }>("pods", "-n", where);
    return pods?.items.length === 0;
  });
}

test("H8: docs/hosted.md, as it stands: a pod beside the control plane serves the guest's node, and takes all of it away", async () => {
  const { registry } = guest;
  await prepareHosted();
  const app = await guest.pushApp("team/app:1");
  const [file, before] = [theNode().readFile("config.json"), await kubelets(guest)];
  await guest.apply(podOn(theNode(), "app", app));
  await untilState(guest, "app", ...pullRefused);

  const desk = deskIn(management, { management, guest });
  const { blocksBelow } = pageOf("hosted.md");
  const told = await follow(desk, blocksBelow("## Walk-through"), withImage);
  assert.ok(!told.includes(password));
  assert.equal(auths(theNode())[registry.host]?.auth, btoa(`robot:${password}`));
  assert.notDeepEqual(await kubelets(guest), before, "no kubelet has read the file");
  await untilState(guest, "app", "Running");
  assert.ok(registry.accesses().some(({ user }) => user === "robot"));

  assert.ok(!(await follow(desk, blocksBelow("## Uninstall"))).includes(password));
  assert.deepEqual(theNode().readFile("config.json"), file);
  assert.equal(await guest.get("crd", "globalpullsecrets.globalpullsecret.io"), undefined);
  await untilNoPods(namespace);
});

/** The values of an image. */
const imageValues = () => {
  const at = image.lastIndexOf(":");
  return [
    `--set=image.repository=${image.slice(0, at)}`,
    `--set-string=image.tag=${image.slice(at + 1)}`,
  ];
};

test("H8: the chart's role Hosted serves the guest's node, too, and its uninstall leaves nothing here", async () => {
  const place = ["--namespace", namespace];
  await guest.kubectl("apply", "-k", join(root, "manifests/crds"));
  const install = ["install", "guest", chart, "--set=role=Hosted", "--wait"];
  await helmOn(management, ...install, ...place, ...imageValues());
  await product.steerProduct(guest, {});
  await product.writeAdditional(guest, guest.registry.document("additional"));
  await until("the node has it", () => guest.registry.host in auths(theNode()), {
    timeout: 120_000,
  });
  await product.deleteAdditional(guest);
  await product.untilRemoved(guest);
  await helmOn(management, "uninstall", "guest", "--wait", ...place);
  await untilNoPods(namespace);
  const kinds = "deployments,serviceaccounts,roles,rolebindings,leases,poddisruptionbudgets";
  const left = await management.kubectl("get", kinds, ...place, "-o", "name");
  assert.equal(left.trim(), "serviceaccount/default");
});

test("K1, K8: the chart's role Fleet brings a Secret to a cluster, as a pod; its uninstall leaves the definition alone", async () => {
  const home = fleet.homeOf(management);
  const there = await fleet.guestOf(guest);
  await fleet.declareGuest(home, "guest-a", there.kubeconfig, fleet.labelled);
  const install = ["install", "fleet", chart, "--set=role=Fleet", "--wait"];
  await helmOn(management, ...install, ...imageValues());
  const brought = document({ "a.example": "fleet:1" });
  await management.apply(pullSecret("source-pull-secret", brought), fleet.fleetSecret());
  await fleet.untilPlaced(there, { ".dockerconfigjson": btoa(brought) });
  await fleet.untilState(home, "guest-a", "Done");
  const object = ["fleetsecret", "pull-secret", "-n", "kube-system", "--timeout=60s"];
  await management.kubectl("delete", ...object);
  assert.equal(await fleet.targetIn(there), undefined);
  await helmOn(management, "uninstall", "fleet", "--wait");
  const kinds = "deployments,roles,rolebindings,clusterroles,clusterrolebindings,leases,crds";
  const left = (await management.kubectl("get", kinds, "-A", "-o", "name")).split("\n");
  assert.deepEqual(
    left.filter((name) => /pull-?secret/.test(name)),
    ["customresourcedefinition.apiextensions.k8s.io/fleetsecrets.globalpullsecret.io"],
  );
});

test("L33: docs/syncsecret.md's walk-through, as it stands, with both programs as pods", async () => {
  const desk = deskIn(guest, { management, tenant: guest });
  rmSync(join(desk.folder, "manifests"));
  cpSync(join(root, "manifests"), join(desk.folder, "manifests"), { recursive: true });
  for (const side of ["management", "tenant"]) {
    const file = join(desk.folder, "manifests/sync", side, "kustomization.yaml");
    writeFileSync(file, withImage(readFileSync(file, "utf8")));
  }
  await follow(desk, pageOf("syncsecret.md").blocksBelow("## Walk-through"));
});

/**
 * Joins the management cluster under the name east and the other cluster under the name west. Runs
 * the example workload of test/clusters on real nodes, and delivers sealed files.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { V1Pod } from "@kubernetes/client-node";
import { until } from "#test/cluster/await.ts";
import type { Cluster } from "#test/cluster/cluster.ts";
import { untilDeployed, writeWork } from "#test/clusters/applying.fixture.ts";
import { untilCondition } from "#test/clusters/clusters.ts";
import { installCrd } from "#test/clusters/inventory.ts";
import { follow, pageOf, type Desk } from "#test/page.ts";
import * as sealedSecrets from "#test/sealed/sealedsecrets.ts";
import { auths } from "../nodes.ts";
import { podOn, untilState } from "../pods.ts";
import * as product from "../product.ts";
import { newDesk, nodeOf, parts, password, type BothClusters } from "./rig.ts";

const names = ["east", "west"] as const;

/** Accounts of the private registry: one for the pods' own pull secrets, and one for the nodes. */
const users = { web: "planted-3c9f", robot: password };
const documentOf = (host: string, user: keyof typeof users): string =>
  JSON.stringify({ auths: { [host]: { auth: btoa(`${user}:${users[user]}`) } } });

/** The number of running pods of the example workload's Deployment. */
async function runningIn(cluster: Cluster): Promise<number> {
  const pods = await cluster.get<{ items: V1Pod[] }>("pods", "-n", "web", "-l", "app=web");
  return (pods?.items ?? []).filter(({ status }) => status?.phase === "Running").length;
}

/** Returns true if the registry has allowed this user to pull an image of this repository. */
const pulledBy = ({ registry }: Cluster, user: string, repository: string): boolean =>
  registry.accesses().some((access) => access.user === user && access.path.includes(repository));

export function joined(on: () => BothClusters): void {
  let desk: Desk;
  const clusters = () => [on().management, on().guest] as const;

  test("M1, M2, M7: joins each of two clusters with one command, and installs Sealed Secrets in both with one command", async () => {
    const { management, guest, image } = on();
    const [kubeseal] = await Promise.all([
      sealedSecrets.build("kubeseal"),
      installCrd(management),
      ...clusters().map(({ registry }) => registry.setUsers({ ...registry.users, ...users })),
    ]);
    desk = newDesk({
      contexts: { east: management, west: guest },
      env: { SEALED_SECRETS_CONTROLLER_NAMESPACE: sealedSecrets.home },
      programs: { kubeseal },
    });
    const [newName, newTag] = parts(image);
    const images = [{ name: "global-pull-secret", newName, newTag }];
    const overlay = JSON.stringify({ resources: ["./manifests/fleet"], images });
    writeFileSync(join(desk.folder, "kustomization.yaml"), overlay);
    await desk.run("kubectl apply -k .");
    for (const name of names)
      await desk.run(`kubectl pull-secret fleet join ${name} --context ${name}`);
    const [controller] = await Promise.all(clusters().map(sealedSecrets.pushController));
    const manifests = await sealedSecrets.manifestsOf(controller);
    writeFileSync(join(desk.folder, "sealed-secrets.yaml"), manifests);
    await desk.run("kubectl pull-secret fleet apply -f sealed-secrets.yaml");
    for (const name of names)
      for (const type of ["Joined", "ControlPlaneHealthy", "AccountGuarded"])
        await untilCondition(management, name, [type, "True"]);
    const listed = await desk.run("kubectl pull-secret fleet list");
    for (const name of names) assert.match(listed, new RegExp(`^ *${name} +True +True +True`, "m"));
    const rollout = `rollout status deployment/sealed-secrets -n ${sealedSecrets.home}`;
    for (const name of names) await desk.run(`kubectl --context ${name} ${rollout} --timeout=120s`);
  });

  test("M5, M6, M11: runs a private image in both clusters with a credential that is sealed for the image's namespace", async () => {
    for (const cluster of clusters()) await cluster.pushApp("team/web:1");
    const { host } = on().management.registry;
    writeFileSync(join(desk.folder, "regcred.json"), documentOf(host, "web"));
    writeWork(join(desk.folder, "work"));
    // Creates the namespace before the Secret in this namespace.
    let output = await desk.run(`kubectl pull-secret fleet apply -f work/z-namespace.json
      kubectl pull-secret seal -f regcred.json --secret web/regcred -o sealed-web \\
        --cluster east --cluster west --controller-namespace ${sealedSecrets.home}`);
    for (const name of names)
      output +=
        await desk.run(`kubectl pull-secret fleet apply -f sealed-web/${name}.yaml --clusters ${name}
        kubectl --context ${name} wait secret/regcred -n web --for=create --timeout=60s`);
    output += await desk.run("kubectl pull-secret fleet apply -f work --clusters east,west");
    for (const cluster of clusters()) {
      await untilDeployed(cluster);
      await until("three pods run", async () => (await runningIn(cluster)) === 3, {
        timeout: 120_000,
        seen: () => runningIn(cluster),
      });
      assert.ok(pulledBy(cluster, "web", "team/web"));
    }
    assertNoCredentials(desk, "sealed-web", output);
  });

  test("M8, M11: delivers a sealed credential to the nodes of two clusters, with the commands of docs/extend/sealed.md", async () => {
    const { management, guest } = on();
    const { host } = management.registry;
    await Promise.all(clusters().map((cluster) => product.installProduct(cluster)));
    for (const cluster of clusters()) assert.ok(!(host in auths(nodeOf(cluster))));
    writeFileSync(join(desk.folder, "additional.json"), documentOf(host, "robot"));
    const { blocksBelow } = pageOf("extend/sealed.md");
    let output = "";
    for (const part of ["Once for each cluster", "Each time the credential changes", "Later"])
      output += await follow(desk, blocksBelow(`## ${part}`));
    output += await desk.run("kubectl pull-secret wait --context west --timeout 2m");
    for (const cluster of clusters()) {
      const node = nodeOf(cluster);
      assert.equal(auths(node)[host]?.auth, btoa(`robot:${password}`));
      await cluster.apply(podOn(node, "sealed", await cluster.pushApp("team/sealed:1")));
      await untilState(cluster, "sealed", "Running");
      assert.ok(pulledBy(cluster, "robot", "team/sealed"));
    }
    assertNoCredentials(desk, "sealed", output);
    output = await desk.run("kubectl --context east delete -f sealed/east.yaml");
    await product.untilRemoved(management);
    assert.ok(!(host in auths(nodeOf(management))));
    assert.ok(host in auths(nodeOf(guest)));
  });
}

/** Asserts that neither the printed output nor the sealed files contain a credential. */
function assertNoCredentials({ folder }: Desk, sealed: string, printed: string): void {
  const files = readdirSync(join(folder, sealed));
  assert.deepEqual(files.toSorted(), ["east.yaml", "index.json", "west.yaml"]);
  const texts = files.map((file) => readFileSync(join(folder, sealed, file), "utf8"));
  for (const [user, word] of Object.entries(users))
    for (const form of [word, btoa(word), btoa(`${user}:${word}`)])
      for (const text of [printed, ...texts])
        assert.ok(!text.includes(form), `found a form of ${user}`);
}

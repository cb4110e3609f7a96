/**
 * A hosted cluster has its control plane in the management cluster. A controller in the management
 * cluster serves the hosted cluster's node.
 */
import { longTest } from "#test/sample.ts";
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { V1Lease } from "@kubernetes/client-node";
import { until } from "#test/cluster/await.ts";
import type { Cluster } from "#test/cluster/cluster.ts";
import { document, pullSecret } from "#test/controller/plane.ts";
import { chart, helmOn } from "#test/install/helm.ts";
import { follow, pageOf } from "#test/page.ts";
import { auths, kubelets } from "../nodes.ts";
import { podOn, pullRefused, untilState } from "../pods.ts";
import * as product from "../product.ts";
import {
  imageValues,
  newDesk,
  nodeOf,
  password,
  root,
  withImage,
  type BothClusters,
} from "./rig.ts";

/** The namespace of the hosted cluster, with a name as HyperShift makes it. */
const namespace = "clusters-guest";
const place = ["--namespace", namespace];
const install = ["install", "guest", chart, "--set=role=Hosted", "--wait", ...place];

/**
 * Creates the objects that HyperShift creates in the management cluster, and a user of the private
 * registry.
 */
async function prepareHosted({ management, guest }: BothClusters): Promise<void> {
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

/** Waits until the namespace of the management cluster contains none of our pods. */
async function untilNoPods(management: Cluster): Promise<void> {
  await until("the controller's pods are gone", async () => {
    const pods = await management.get<{ items: object[] }>("pods", "-n", namespace);
    return pods?.items.length === 0;
  });
}

export function hosted(on: () => BothClusters): void {
  test("H8: serves the hosted cluster's node and removes everything, with the commands of docs/extend/hosted.md", async () => {
    const { management, guest, image } = on();
    const node = nodeOf(guest);
    await prepareHosted(on());
    const app = await guest.pushApp("team/app:1");
    const [file, before] = [node.readFile("config.json"), await kubelets(guest)];
    await guest.apply(podOn(node, "app", app));
    await untilState(guest, "app", ...pullRefused);

    const desk = newDesk({ contexts: { management, guest } });
    writeFileSync(
      join(desk.folder, "pull-secret.json"),
      document({ [guest.registry.host]: `robot:${password}` }),
    );
    const { blocksBelow } = pageOf("extend/hosted.md");
    const edited = (text: string) => withImage(text, image);
    const output = await follow(desk, blocksBelow("## Walk-through"), edited);
    assert.ok(!output.includes(password));
    assert.equal(auths(node)[guest.registry.host]?.auth, btoa(`robot:${password}`));
    assert.notDeepEqual(await kubelets(guest), before, "no kubelet has read the file");
    await untilState(guest, "app", "Running");
    assert.ok(guest.registry.accesses().some(({ user }) => user === "robot"));

    assert.ok(!(await follow(desk, blocksBelow("## Uninstall"))).includes(password));
    assert.deepEqual(node.readFile("config.json"), file);
    assert.equal(await guest.get("crd", "globalpullsecrets.globalpullsecret.io"), undefined);
    await untilNoPods(management);
  });

  longTest(
    "H8: serves the hosted cluster's node with the chart's role Hosted, and uninstalls everything",
    async () => {
      const { management, guest, image } = on();
      await guest.kubectl("apply", "-k", join(root, "manifests/guest"));
      await helmOn(management, ...install, ...imageValues(image));
      await product.steerProduct(guest, {});
      await product.writeAdditional(guest, guest.registry.document("additional"));
      await until("the node has the entry", () => guest.registry.host in auths(nodeOf(guest)), {
        timeout: 120_000,
      });
      await product.deleteAdditional(guest);
      await product.untilRemoved(guest);
      await helmOn(management, "uninstall", "guest", "--wait", ...place);
      await untilNoPods(management);
      const kinds = "deployments,serviceaccounts,roles,rolebindings,leases,poddisruptionbudgets";
      const remaining = await management.kubectl("get", kinds, ...place, "-o", "name");
      assert.equal(remaining.trim(), "serviceaccount/default");
    },
  );
}

/** This test must be the last, because it deletes the hosted cluster. */
export function hostedGuestDeleted(on: () => BothClusters): void {
  test("H8: does not delay the deletion of a hosted cluster's namespace when the hosted API server is gone", async () => {
    const { management, guest, image } = on();
    // Stops the controller that runs in the hosted cluster. This controller and the controller in
    // the management cluster use different Leases, so both would write.
    const name = "global-pull-secret-controller";
    await guest.kubectl("scale", `deployment/${name}`, "-n", "kube-system", "--replicas=0");
    const its = ["-n", "kube-system", "-l", `app.kubernetes.io/name=${name}`];
    await guest.kubectl("wait", "pods", ...its, "--for=delete", "--timeout=60s");
    await helmOn(management, ...install, ...imageValues(image));
    const lease = ["lease", name, "-n", namespace];
    await until("one of the two controllers leads", async () => {
      const { spec } = (await management.get<V1Lease>(...lease)) ?? {};
      return spec?.holderIdentity;
    });
    await guest.stopApiServer();
    // The timeout is three times as long as the controller's termination grace period.
    await management.kubectl("delete", "namespace", namespace, "--timeout=90s");
    assert.equal(await management.get("namespace", namespace), undefined);
  });
}

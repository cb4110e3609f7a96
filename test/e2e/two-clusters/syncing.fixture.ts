/**
 * Syncs a tenant's Secrets into the management cluster. The program of the tenant and the program
 * of the management cluster run as pods.
 */
import assert from "node:assert/strict";
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { V1Pod } from "@kubernetes/client-node";
import type { SyncSecret } from "#api/sync-secret.ts";
import { imagesOf } from "#test/install/overlay.ts";
import { follow, pageOf, type Desk } from "#test/page.ts";
import { syncSecret } from "#test/tenants/sync.ts";
import { newDesk, password, root, type BothClusters } from "./rig.ts";

const sides = ["management", "tenant"] as const;

export function syncing(on: () => BothClusters): void {
  const { blocksBelow } = pageOf("extend/tenants.md");
  let desk: Desk;

  test("L33: serves a tenant with the exact commands of docs/extend/tenants.md", async () => {
    const { management, guest, image } = on();
    desk = newDesk({ contexts: { tenant: guest, management } });
    rmSync(join(desk.folder, "manifests"));
    cpSync(join(root, "manifests"), join(desk.folder, "manifests"), { recursive: true });
    for (const side of sides) {
      const file = join(desk.folder, "manifests/sync", side, "kustomization.yaml");
      const images = JSON.stringify(imagesOf(image)); // JSON is YAML
      writeFileSync(file, `${readFileSync(file, "utf8")}images: ${images}\n`);
    }
    await follow(desk, blocksBelow("## Walk-through"));
  });

  test("L15: pulls a private image in the management cluster with the tenant's dockerconfigjson", async () => {
    const { management, guest } = on();
    const { registry } = management;
    await registry.setUsers({ ...registry.users, tenant: password });
    const image = await management.pushApp("team/tenants:1");
    // The entry is as `kubectl create secret docker-registry` creates it.
    const login = { username: "tenant", password, email: "tenant@example.com" };
    const entry = { ...login, auth: btoa(`tenant:${password}`) };
    const value = JSON.stringify({ auths: { [registry.host]: entry } });
    const type = "kubernetes.io/dockerconfigjson";
    await guest.apply(syncSecret("wrapped", { type, stringData: { ".dockerconfigjson": value } }));
    const object = ["syncsecret", "wrapped"] as const;
    await guest.kubectl("wait", ...object, "--for=condition=Ready", "--timeout=60s");
    const { status } = (await guest.get<SyncSecret>(...object)) ?? {};
    const space = { namespace: "tenant-a" };
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "app", ...space },
      spec: {
        imagePullSecrets: [{ name: status?.secretName ?? assert.fail("no Secret is named") }],
        automountServiceAccountToken: false,
        terminationGracePeriodSeconds: 1,
        containers: [{ name: "app", image }],
      },
    } satisfies V1Pod;
    await management.apply(pod);
    const running = "--for=jsonpath={.status.phase}=Running";
    await management.kubectl("wait", "pod/app", "-n", space.namespace, running, "--timeout=120s");
    const pulled = registry.accesses().filter(({ path }) => path.includes("team/tenants"));
    assert.ok(pulled.some(({ user }) => user === "tenant"));
  });

  test("L31: the page's recipes read the logs of both replicas of a program", async () => {
    const recipes = blocksBelow("## When something is wrong").filter(({ body }) =>
      body.includes(" logs "),
    );
    const expectedLines = [/the copy is created/, /the Secret is created/];
    assert.equal(recipes.length, expectedLines.length);
    for (const side of sides) {
      const rollout = `rollout status deployment/global-pull-secret-sync-${side} -n kube-system`;
      await desk.run(`kubectl --context ${side} ${rollout} --timeout=60s`);
    }
    for (const [at, { body }] of recipes.entries()) {
      const output = await desk.run(body);
      assert.match(output, expectedLines[at] ?? /^$/);
      // kubectl prints this message when it reads the log of only one of several pods. This pod
      // might be the standby.
      assert.doesNotMatch(output, /^Found \d+ pods, using pod/m);
      assert.ok(!output.includes(password) && !output.includes(btoa(`tenant:${password}`)));
    }
    // Stops the programs, because no later test needs them.
    for (const side of sides) {
      const deployment = `deployment/global-pull-secret-sync-${side} -n kube-system`;
      await desk.run(`kubectl --context ${side} scale ${deployment} --replicas=0`);
    }
  });
}

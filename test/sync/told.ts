/** What is told: the page, its commands, the metrics, the logs. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { until } from "../cluster/await.ts";
import { run } from "../cluster/run.ts";
import { blocksBelow, deskOf } from "./page.ts";
import type { Rig } from "./rig.ts";
import { base64, objectIn, syncSecret, untilReason, untilSecret } from "./sync.ts";

const folders: string[] = [];
after(() => folders.forEach((one) => rmSync(one, { recursive: true, force: true })));

const deskFor = (rig: Rig) => {
  const folder = mkdtempSync(join(tmpdir(), "sync-page-"));
  folders.push(folder);
  return deskOf(rig, folder);
};

export function toldTests(rig: () => Rig): void {
  test("L17, L31: the page's recipes run, and show what they are for; orphans are found by name, and nothing else", async () => {
    const on = rig();
    const { management, tenant } = on;
    on.start();
    const desk = deskFor(on);
    await tenant.cluster.apply(syncSecret("wrapped", { stringData: { a: "planted-1" } }));
    const wanted = { data: { a: base64("planted-1") } };
    const secret = await untilSecret(tenant, management, "wrapped", wanted);
    const { metadata } = await untilReason(tenant, "wrapped", "Synced");
    const name = secret.metadata?.name ?? "";
    const shows: readonly RegExp[] = [
      new RegExp(`${name} holds what is declared(.|\n)*the copy is created`),
      /namespace\/tenant-a\n(.|\n)*yes\n(.|\n)*the Secret is created/,
      /wrapped +1 +1\n/,
      new RegExp(`tenant-a +${name}.* default +wrapped\n`),
    ];
    const blocks = blocksBelow("## When something is wrong");
    assert.equal(blocks.length, shows.length);
    for (const [at, { body }] of blocks.entries()) {
      const told = await desk.run(body);
      assert.match(told, shows[at] ?? /^$/);
      assert.ok(!told.includes("planted-1") && !told.includes(base64("planted-1")));
    }
    const [ownerless, strays] = blocksBelow("### Orphans");
    const find = async () => [
      await desk.run(ownerless?.body ?? ""),
      await desk.run(strays?.body ?? ""),
    ];
    assert.deepEqual(await find(), ["", ""]);
    const labels = { "app.kubernetes.io/managed-by": "global-pull-secret-sync" };
    const lost = { name: "lost", namespace: "tenant-a", labels };
    await management.cluster.apply({ apiVersion: "v1", kind: "Secret", metadata: lost });
    await management.cluster.apply(syncSecret("stray", { stringData: { a: "1" } }, "tenant-a"));
    assert.deepEqual(await find(), ["lost\n", "stray\n"]);
    assert.notEqual(metadata.uid, undefined);
    await management.cluster.kubectl("delete", "secret/lost", "syncsecret/stray", "-n", "tenant-a");
  });

  test("L27, L28, L29, L30: both sides count and time by namespace at :8080/metrics, and log each step as JSON with it, never content", async () => {
    const on = rig();
    const { management, tenant } = on;
    on.start();
    await tenant.cluster.apply(syncSecret("logged", { stringData: { a: "planted-2" } }));
    await untilSecret(tenant, management, "logged", { data: { a: base64("planted-2") } });
    await tenant.cluster.apply(syncSecret("logged", { stringData: { a: "planted-3" } }));
    await untilSecret(tenant, management, "logged", { data: { a: base64("planted-3") } });
    await untilReason(tenant, "logged", "Synced");
    const bad = { type: "kubernetes.io/tls", stringData: { a: "planted-4" } } as const;
    await tenant.cluster.apply(syncSecret("bad", bad));
    await untilReason(tenant, "bad", "Invalid");
    await tenant.cluster.kubectl("delete", "syncsecret", "logged");
    await until("it is gone", async () => (await objectIn(tenant, "logged")) === undefined);
    const [there, here] = on.programs;
    assert.ok(there && here);
    for (const [program, namespace, noun] of [
      [there, "tenant-a", "Secret"],
      [here, "default", "copy"],
    ] as const) {
      const answer = await fetch(`http://127.0.0.1:${await program.port()}/metrics`);
      const metrics = await answer.text();
      const count = (name: string, labels: string) =>
        Number(new RegExp(`^${name}\\{${labels}\\} (\\d+)$`, "m").exec(metrics)?.[1]);
      const its = `namespace="${namespace}"`;
      const total = "global_pull_secret_sync_secret_reconcile_total";
      const seconds = "global_pull_secret_sync_secret_reconcile_duration_seconds_count";
      assert.ok(count(total, `${its},result="success"`) > 0, metrics);
      assert.ok(count(seconds, its) >= count(total, `${its},result="success"`));
      const lines = program.output().trim().split("\n");
      const logged = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
      const ours = logged.filter((one) => one["namespace"] === namespace);
      for (const said of [
        `the ${noun} is created`,
        `the ${noun} is updated`,
        "in sync",
        `the ${noun} is deleted`,
        `cleaned up: the ${noun} is gone`,
      ])
        assert.ok(
          ours.some((one) => one["msg"] === said && one["name"] !== undefined),
          said,
        );
      for (const word of ["planted-2", "planted-3", "planted-4"])
        for (const form of [word, base64(word)]) {
          assert.ok(!program.output().includes(form), word);
          assert.ok(!metrics.includes(form), word);
        }
    }
    assert.match(here.output(), /"reason":"Invalid".*GPS463/);
    for (const side of ["tenant", "management"] as const) {
      const bundle = join(import.meta.dirname, `../../dist/sync-${side}.cjs`);
      assert.match(await run([process.execPath, bundle, "--help"]), /--listen .*\[:8080\]/);
      const deployment = await rig()[side].cluster.kubectl(
        "get",
        "deployment",
        `global-pull-secret-sync-${side}`,
        "--namespace=kube-system",
        "-o",
        "jsonpath={.spec.template.spec.containers[0].ports[0].containerPort} {.spec.template.spec.containers[0].args}",
      );
      assert.match(deployment, /^8080 (?!.*listen)/);
    }
  });
}

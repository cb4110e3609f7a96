/** Metrics and logs of both programs. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { until } from "../cluster/await.ts";
import { run } from "../cluster/run.ts";
import { askedAt, type Program } from "./programs.ts";
import type { Rig } from "./rig.ts";
import {
  base64,
  fill,
  objectIn,
  pathOf,
  syncSecret,
  untilReason,
  untilSecret,
  type OneCluster,
} from "./sync.ts";

const total = "global_pull_secret_sync_secret_reconcile_total";
const seconds = "global_pull_secret_sync_secret_reconcile_duration_seconds_count";

async function metricsOf(program: Program) {
  const answer = await fetch(`http://127.0.0.1:${await program.port()}/metrics`);
  const text = await answer.text();
  /** 0 if the line is absent, because a counter appears with its first count. */
  const count = (name: string, labels: string) =>
    Number(new RegExp(`^${name}\\{${labels}\\} (\\S+)$`, "m").exec(text)?.[1] ?? 0);
  return { text, count };
}

/** Both programs, with the namespace of their SyncSecrets and the noun for what they make. */
function sidesOf({ programs }: Rig) {
  const [managementProgram, here] = programs;
  assert.ok(managementProgram && here);
  return [
    { program: managementProgram, namespace: "tenant-a", noun: "Secret" },
    { program: here, namespace: "default", noun: "copy" },
  ] as const;
}

/** Each side's counter of this result; the management side comes first. */
const counted = (on: Rig, result: "success" | "conflict" | "error") =>
  Promise.all(
    sidesOf(on).map(async ({ program, namespace }) => {
      const { count } = await metricsOf(program);
      return count(total, `namespace="${namespace}",result="${result}"`);
    }),
  );

const times = Array.from({ length: 40 }, (_, at) => at);

/** Keeps writing an object, so that another client's write meets a conflict. */
async function contend({ api }: OneCluster, name: string, namespace: string): Promise<void> {
  const object = syncSecret(name, {}, namespace);
  for (const time of times) {
    const metadata = { ...object.metadata, labels: { contender: `${time}` } };
    const options = { manager: "contender", force: true };
    await api.apply(pathOf(namespace, name), { ...object, metadata }, options);
  }
}

const linesOf = (program: Program): readonly Record<string, unknown>[] =>
  program
    .output()
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Record<string, unknown>);

export function reportedTests(rig: () => Rig): void {
  test("L27, L28, L29: counts and times reconciles by namespace on both sides, and logs each step as JSON with the namespace and without content", async () => {
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
    await until("the object is gone", async () => (await objectIn(tenant, "logged")) === undefined);
    for (const { program, namespace, noun } of sidesOf(on)) {
      const { text, count } = await metricsOf(program);
      const its = `namespace="${namespace}"`;
      assert.ok(count(total, `${its},result="success"`) > 0, text);
      const results = ["success", "conflict", "error"].map((result) =>
        count(total, `${its},result="${result}"`),
      );
      assert.equal(
        count(seconds, its),
        results.reduce((sum, amount) => sum + amount),
      );
      const sum = count(seconds.replace(/count$/, "sum"), its);
      assert.ok(sum > 0 && sum < 60 * count(seconds, its), `${sum} s`);
      const logged = () =>
        linesOf(program)
          .filter((line) => line["namespace"] === namespace && line["name"] !== undefined)
          .map((line) => line["msg"]);
      for (const said of [
        `the ${noun} is created`,
        `the ${noun} is updated`,
        "in sync",
        // Only the tenant's side logs deletions, because the garbage collector deletes the Secret
        // of a copy.
        ...(noun === "copy" ? ["the copy is deleted", "cleaned up: the copy is gone"] : []),
      ])
        await until(said, () => logged().includes(said));
      for (const word of ["planted-2", "planted-3", "planted-4"])
        for (const form of [word, base64(word)]) {
          assert.ok(!program.output().includes(form), word);
          assert.ok(!text.includes(form), word);
        }
    }
    const [, here] = sidesOf(on);
    await until("the refusal is logged", () =>
      /"reason":"Invalid".*GPS463/.test(here.program.output()),
    );
  });

  test("L27: counts a refusal as an error and a conflict as a conflict, on each side separately", async () => {
    const on = rig();
    const { management, tenant } = on;
    on.start();
    for (const [at, kind] of (["Secret", "SyncSecret"] as const).entries()) {
      const before = (await counted(on, "error"))[at] ?? 0;
      await using _full = await fill(management, kind);
      await tenant.cluster.apply(syncSecret(`no-${kind.toLowerCase()}`, {}));
      await untilReason(tenant, `no-${kind.toLowerCase()}`, "Refused");
      assert.ok(((await counted(on, "error"))[at] ?? 0) > before, kind);
      const side = sidesOf(on)[at] ?? assert.fail(kind);
      await until("the failure is logged, with its namespace", () =>
        linesOf(side.program).some(
          ({ msg, namespace }) => msg === "failed" && namespace === side.namespace,
        ),
      );
    }

    await tenant.cluster.apply(syncSecret("there", {}));
    const { uid = "" } = (await untilReason(tenant, "there", "Synced")).metadata;
    const before = await counted(on, "conflict");
    let word = 1;
    await until("both sides have met a conflict", async () => {
      word += 1;
      const changed = syncSecret("there", { stringData: { a: `${word}` } });
      const options = { manager: "user", force: true };
      await Promise.all([
        tenant.api.apply(pathOf("default", "there"), changed, options),
        contend(tenant, "there", "default"),
        contend(management, uid, "tenant-a"),
      ]);
      return (await counted(on, "conflict")).every((now, at) => now > (before[at] ?? 0));
    });
    await untilSecret(tenant, management, "there", { data: { a: base64(`${word}`) } });
  });

  test("L30: serves metrics of both sides at :8080/metrics, the port of the Deployments", async () => {
    const on = rig();
    for (const side of ["tenant", "management"] as const) {
      const metrics = await askedAt("http://127.0.0.1:8080/metrics", side, on);
      assert.match(metrics, new RegExp(`^# TYPE ${total} counter$`, "m"));
      const bundle = join(import.meta.dirname, `../../dist/sync-${side}.cjs`);
      assert.match(await run([process.execPath, bundle, "--help"]), /--listen .*\[:8080\]/);
      const deployment = await on[side].cluster.kubectl(
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

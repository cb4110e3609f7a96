/**
 * Runs both sides in the test's process, so that tests can end or disturb the sides at each write.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubernetesObject } from "@kubernetes/client-node";
import { pino } from "pino";
import { tenantBound } from "#contract/names.ts";
import { connect } from "#kube/client/client.ts";
import { loadKubeConfig } from "#kube/load.ts";
import type { Replacing as Api } from "#kube/client/cluster.ts";
import { Engine } from "#tenants/engine.ts";
import { managementSide, tenantSide } from "#tenants/side.ts";
import type { Result } from "#tenants/metrics.ts";
import { until } from "../cluster/await.ts";
import type { Rig } from "./rig.ts";
import { base64, objectIn, secretIn, syncSecret, type OneCluster } from "./sync.ts";

const silent = pino({ level: "silent" });

const clientOf = ({ cluster }: OneCluster): Api => {
  return connect(loadKubeConfig(cluster.kubeconfig), () => {}, {
    manager: "global-pull-secret-sync",
  });
};

const writes = ["create", "apply", "patch", "remove"] as const;
type Write = (typeof writes)[number];
type Before = (method: Write, path: string) => Promise<void> | void;
type Wrapped = Readonly<{ before?: Before; after?: Before }>;

/** A client that calls `before` and `after` at each write. */
function disturbed(api: Api, { before, after }: Wrapped): Api {
  const wrapped = writes.map((method) => {
    const write = api[method] as (path: string, ...rest: unknown[]) => Promise<unknown>;
    return [
      method,
      async (path: string, ...rest: unknown[]) => {
        await before?.(method, path);
        const answer = await write(path, ...rest);
        await after?.(method, path);
        return answer;
      },
    ] as const;
  });
  return { ...api, ...(Object.fromEntries(wrapped) as Pick<Api, Write>) };
}

/**
 * Returns a function that runs each side once, and adds the result of each reconcile to `results`.
 */
function sides({ tenant, management }: Rig, how: Wrapped, results: Result[] = []) {
  const [here, managementClient] = [clientOf(tenant), clientOf(management)].map((api) =>
    disturbed(api, how),
  );
  assert.ok(here && managementClient);
  const metrics = {
    registry: undefined as never,
    looked: (_: string, result: Result) => void results.push(result),
  };
  const engines = [
    new Engine(
      tenantSide({ home: here, management: managementClient, namespace: "tenant-a" }),
      silent,
      metrics,
    ),
    new Engine(managementSide(managementClient, "tenant-a"), silent, metrics),
  ];
  return async () => {
    for (const engine of engines) await engine.run();
  };
}

/** Runs both sides repeatedly until `done`. */
async function drive(run: () => Promise<void>, done: () => Promise<boolean>): Promise<void> {
  await until(
    "it is done",
    async () => {
      await run();
      return await done();
    },
    { every: 20, timeout: 30_000 },
  );
}

const name = "killed";

const holds =
  ({ tenant, management }: Rig, word: string) =>
  async () => {
    const secretName = (await objectIn(tenant, name))?.status?.secretName;
    const secret = secretName === undefined ? undefined : await secretIn(management, secretName);
    return secret?.data?.["a"] === base64(word);
  };
const objects = "/apis/globalpullsecret.io/v1alpha1/namespaces";

/** Declares the object without kubectl, which would take most of the test's time. */
async function declareAs({ tenant }: Rig, word: string): Promise<void> {
  const object = syncSecret(name, { stringData: { a: word } });
  const options = { manager: "user", force: false };
  await tenant.api.apply(`${objects}/default/syncsecrets/${name}`, object, options);
}
async function withdraw({ tenant }: Rig): Promise<void> {
  const uid = (await objectIn(tenant, name))?.metadata.uid ?? "";
  await tenant.api.remove(`${objects}/default/syncsecrets/${name}`, uid);
}
const isGone =
  ({ tenant, management }: Rig) =>
  async () => {
    const paths = [`${objects}/tenant-a/syncsecrets`, "/api/v1/namespaces/tenant-a/secrets"];
    const lists = await Promise.all(
      paths.map((path) => management.api.get<{ items: readonly KubernetesObject[] }>(path)),
    );
    const remaining = lists.flatMap((list) => list?.items ?? []);
    // Only the Secret to which the tenant's token is bound is allowed to remain, because this
    // Secret belongs to no copy.
    const none = remaining.every(({ metadata }) => metadata?.name === tenantBound);
    return none && (await objectIn(tenant, name)) === undefined;
  };

export function killTests(rig: () => Rig): void {
  test("L3: reaches the same state and leaves no objects behind if the processes are killed after any write", async () => {
    const on = rig();
    await on.stop();
    const declare = (word: string) => declareAs(on, word);
    const steps: readonly (readonly [() => Promise<unknown>, () => Promise<boolean>])[] = [
      [() => declare("1"), holds(on, "1")],
      [() => declare("2"), holds(on, "2")],
      [() => withdraw(on), isGone(on)],
    ];
    let deaths = 0;
    for (let life = 1; ; life += 1) {
      let writes = 0;
      let dead = false;
      const dies = () => {
        if (dead) throw new Error("killed");
        dead = ++writes === life;
        if (dead) throw new Error("killed");
      };
      const alive = () => {
        if (dead) throw new Error("killed");
      };
      const first = sides(on, { before: alive, after: dies });
      for (const [act, done] of steps) {
        await act();
        // The first processes run until they are killed; then the next processes continue.
        const next = sides(on, {});
        await drive(async () => {
          if (dead) await next();
          else await first().catch(() => {});
        }, done);
      }
      if (!dead) {
        // The programs make at least eleven writes, even if the copy has no finalizer.
        assert.ok(writes >= 11, `only ${writes} writes`);
        break;
      }
      deaths += 1;
    }
    assert.ok(deaths >= 11);
  });

  test("L24, L25: repeats a write with the current state if the write meets a conflict", async () => {
    const on = rig();
    await on.stop();
    const results: Result[] = [];
    const met = new Map<string, number>();
    const contender = clientOf(on.management);
    const home = clientOf(on.tenant);
    const contend: Before = async (method, path) => {
      const at = path.replace(/\/status$/, "");
      const times = met.get(at) ?? 0;
      const isCreation = method === "create" || (method === "apply" && at === path);
      if (isCreation || method === "remove" || times >= 3) return;
      met.set(at, times + 1);
      const cluster = at.includes("/tenant-a/") ? contender : home;
      const kind = at.includes("/syncsecrets/") ? "SyncSecret" : "Secret";
      const apiVersion = kind === "Secret" ? "v1" : "globalpullsecret.io/v1alpha1";
      const metadata = { name: at.split("/").at(-1), labels: { contender: String(times) } };
      const options = { manager: "contender", force: true };
      await cluster.apply(at, { apiVersion, kind, metadata }, options);
    };
    const run = sides(on, { before: contend }, results);
    for (const word of ["1", "2"]) {
      await declareAs(on, word);
      await drive(run, holds(on, word));
    }
    assert.equal(met.size, 3, "the tenant's object, its copy, the Secret");
    assert.ok(results.filter((result) => result === "conflict").length >= 6);
    const { metadata } = (await objectIn(on.tenant, name)) ?? {};
    assert.equal(metadata?.labels?.["contender"], "2");
    await withdraw(on);
    await drive(run, isGone(on));
  });
}

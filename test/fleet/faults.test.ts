/** Faults of a fleet: one cluster, one credential or the management cluster fails, and recovers. */
import assert from "node:assert/strict";
import { longTest } from "../sample.ts";
import { after, afterEach, before, test } from "node:test";
import { KubeConfig, type V1Secret } from "@kubernetes/client-node";
import { connect } from "#kube/client/client.ts";
import { auditOf } from "../cluster/audit.ts";
import { stays, until } from "../cluster/await.ts";
import { document, pullSecret } from "../controller/plane.ts";
import { planted } from "../harness/api/manners.ts";
import type { FakeServer } from "../harness/api/server.ts";
import { seeded } from "../random.ts";
import * as fleet from "./fleet.ts";
import { fleetSecret, labelled, untilPlaced, untilState } from "./fleet.ts";

let home: fleet.Home;
let real: fleet.GuestCluster;
let fake: FakeServer;
let controller: ReturnType<typeof fleet.startFleet> | undefined;

before(async () => {
  [home, real] = await Promise.all([fleet.startHome(), fleet.startGuest()]);
  fake = await fleet.startFakes();
});
after(async () => {
  for (const member of [home, real]) member?.cluster.down();
  await fake?.[Symbol.asyncDispose]();
});
afterEach(async () => {
  await controller?.[Symbol.asyncDispose]();
  controller = undefined;
  await fleet.clear(home, [real]);
  await home.cluster.kubectl("delete", "namespace", "ill", "--ignore-not-found");
});

const documentOf = (word: string) => document({ "quay.io": `robot:${word}` });
const data = (word: string) => Buffer.from(documentOf(word)).toString("base64");
const source = (word: string) =>
  home.cluster.apply(pullSecret("source-pull-secret", documentOf(word)));
const placed = (word: string) => untilPlaced(real, { ".dockerconfigjson": data(word) });

async function begin(spec: Parameters<typeof fleetSecret>[0] = {}): Promise<void> {
  await fleet.declareGuest(home, "real", real.kubeconfig, labelled);
  await home.cluster.apply(fleetSecret(spec));
  controller = fleet.startFleet(home, { once: true });
}

/** The first pause of at least 7 s between two requests. */
function firstLongPause(requests: readonly number[] = []) {
  const end = requests.findIndex((at, index) => at - (requests[index - 1] ?? at) >= 7000);
  return end < 0 ? undefined : { from: requests[end - 1] ?? 0, until: requests[end] ?? 0 };
}

for (const manner of ["fails", "hangs", "endless"] as const)
  test(`while a cluster answers in manner ${manner}, reports it as unreachable, quotes no answer, and delays no other cluster`, async () => {
    fake.become("ill", manner);
    await fleet.declareGuest(home, "ill", fake.kubeconfig("ill"), labelled);
    await begin();
    await source("1");
    await placed("1");
    await untilState(home, "ill", "Unreachable", "GPS438");
    const shown = JSON.stringify(await fleet.objectIn(home)) + (controller?.output() ?? "");
    assert.ok(!shown.includes(planted));
    fake.become("ill", "well");
    await until(
      "the cluster is served",
      () => fleet.placedIn(fake, "ill")?.data?.[".dockerconfigjson"] === data("1"),
      {
        timeout: 60_000,
        seen: () => fleet.objectIn(home),
      },
    );
    await untilState(home, "ill", "Done");
  });

test("while a cluster answers 500 for its GlobalPullSecret, quotes only status and reason of the answer, and delays no other cluster", async () => {
  fake.become("ill", "blind");
  await fleet.declareGuest(home, "ill", fake.kubeconfig("ill"), labelled);
  const name = "fleet-pull-secret";
  const rights = await fleet.guestOf(real.cluster, `kube-system/${name}`);
  await fleet.declareGuest(home, "real", rights.kubeconfig, labelled);
  await home.cluster.apply(fleetSecret({ target: { name } }));
  controller = fleet.startFleet(home);
  await source("1");
  await untilState(home, "ill", "Waiting", "GPS459");
  await untilPlaced(rights, { ".dockerconfigjson": data("1") }, undefined, name);
  await untilState(home, "real", "Waiting", "GPS454");
  const entry = (await fleet.objectIn(home))?.status?.clusters?.find((each) => each.name === "ill");
  assert.match(
    entry?.reason ?? "",
    /^GPS459: the cluster's GlobalPullSecret cannot be read: 500 InternalError;/,
  );
  assert.ok(!(JSON.stringify(await fleet.objectIn(home)) + controller.output()).includes(planted));
  fake.become("ill", "well");
  await untilState(home, "ill", "Waiting", "GPS454");
  real = await fleet.guestOf(real.cluster);
  await real.cluster.kubectl("delete", "secret", name, "-n", "kube-system");
});

longTest(
  "retries with growing pauses while a cluster stays away, at almost no cost for the management cluster",
  async () => {
    fake.forget();
    fake.become("ill", "fails");
    await fleet.declareGuest(home, "ill", fake.kubeconfig("ill"), labelled);
    await begin();
    await source("1");
    await untilState(home, "ill", "Unreachable");
    await untilState(home, "real", "Done");
    // The first pause is one second, therefore a pause of 7 s shows that the pauses grow.
    const pause = await until(
      "a pause has grown to 7 s",
      () => firstLongPause(fake.requests("ill")),
      {
        timeout: 90_000,
        seen: () => fake.requests("ill"),
      },
    );
    // Counts from 3 s after an attempt, because the requests that follow an attempt, such as the
    // write of status, end within 3 s.
    const asked = auditOf(home.cluster, {
      since: new Date(pause.from + 3000).toISOString(),
    }).filter(
      ({ user, resource, at }) =>
        user.endsWith(":global-pull-secret-fleet") &&
        // The controller looks for the CRD of ClusterProfiles at regular intervals, even if no
        // object selects ClusterProfiles.
        !["leases", "clusterprofiles"].includes(resource) &&
        Date.parse(at) < pause.until,
    );
    // Two requests are allowed: one reads the kubeconfig for the next attempt, one renews a watch.
    // A run of the controller's loop would send more requests.
    assert.ok(asked.length <= 2, JSON.stringify(asked.slice(0, 5)));
  },
);

test("marks a cluster with an expired credential as Failed, and uses the renewed kubeconfig without a restart", async () => {
  await begin();
  await source("1");
  await placed("1");
  // Deleting the account makes its tokens invalid.
  const account = ["serviceaccount", "global-pull-secret-fleet", "-n", "kube-system"];
  await real.cluster.kubectl("delete", ...account);
  // The API server still accepts the token for 10 s.
  const config = new KubeConfig();
  config.loadFromString(real.kubeconfig);
  const api = connect(config, () => {});
  const secrets = "/api/v1/namespaces/kube-system/secrets/pull-secret";
  await until("the token is void", () =>
    api.get(secrets).then(
      () => false,
      (error: Error) => / 401 /.test(error.message),
    ),
  );
  await source("2");
  await untilState(home, "real", "Failed", "401");
  real = await fleet.guestOf(real.cluster);
  await fleet.declareGuest(home, "real", real.kubeconfig, labelled);
  await placed("2");
  await untilState(home, "real", "Done");
});

test("delivers the current content again when a cluster is restored from a backup, although its resource versions are then lower", async () => {
  await begin();
  await source("1");
  await placed("1");
  const restore = await real.cluster.backUp();
  await source("2");
  await placed("2");
  await source("3");
  await placed("3");
  await untilState(home, "real", "Done");
  await restore();
  await placed("3");
  await untilState(home, "real", "Done");
});

test("writes nothing in any cluster while the management cluster is away, and continues when the management cluster is back", async () => {
  await begin();
  await source("1");
  await placed("1");
  await untilState(home, "real", "Done");
  const since = new Date().toISOString();
  await home.cluster.stopApiServer();
  // A controller that cannot renew its Lease ends, because another process might lead. The test
  // restarts the controller, as its Deployment would.
  await until("the controller's process ends", () => controller?.exited() !== undefined, {
    timeout: 60_000,
  });
  const edit = JSON.stringify({ data: { ".dockerconfigjson": "e30=" } });
  const its = ["secret", "pull-secret", "-n", "kube-system"];
  await real.cluster.kubectl("patch", ...its, "--type=merge", "-p", edit);
  controller = fleet.startFleet(home);
  await stays("nothing is written", async () => edited(await fleet.targetIn(real)), 5000);
  const written = auditOf(real.cluster, { since }).filter(
    ({ userAgent, verb }) => userAgent === "global-pull-secret-fleet" && verb !== "watch",
  );
  assert.deepEqual(
    written.filter(({ verb }) => !["get", "list"].includes(verb)),
    [],
  );
  await home.cluster.startApiServer();
  await placed("1");
});

const edited = (secret: V1Secret | undefined) => secret?.data?.[".dockerconfigjson"] === "e30=";

longTest(
  "reaches the same state after ten kills at random moments of rotations, a lost label and a removal",
  async (t) => {
    const random = seeded(t);
    await begin({ removal: { grace: "0s", deadline: "1h" } });
    for (let n = 1; n <= 10; n++) {
      await source(String(n));
      if (n % 3 === 0) await relabel(n % 2 === 0 ? "=true" : "-");
      const [life, started] = [random.fraction() * 1500, performance.now()];
      await until("it is time to kill", () => performance.now() - started > life, { every: 5 });
      await controller?.kill();
      const lease = ["lease", "global-pull-secret-fleet", "-n", "kube-system"];
      await home.cluster.kubectl("delete", ...lease, "--ignore-not-found");
      controller = fleet.startFleet(home);
    }
    await relabel("=true");
    await placed("10");
    await untilState(home, "real", "Done");
    const its = ["fleetsecret", "pull-secret", "-n", "kube-system"];
    await home.cluster.kubectl("delete", ...its, "--timeout=60s");
    assert.equal(await fleet.targetIn(real), undefined);
  },
);

const relabel = (value: string) =>
  home.cluster.kubectl("label", "namespace", "real", `capi-pull-secret${value}`, "--overwrite");

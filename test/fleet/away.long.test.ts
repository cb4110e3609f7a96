import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { stays } from "../cluster/await.ts";
import { document, pullSecret } from "../controller/plane.ts";
import { TcpProxy } from "../controller/tcp-proxy.ts";
import * as fleet from "./fleet.ts";
import { fleetSecret, labelled, untilPlaced, untilState } from "./fleet.ts";

let home: fleet.Home;
let far: fleet.GuestCluster;
let near: fleet.GuestCluster;
let proxy: TcpProxy;

before(async () => {
  [home, far, near] = await Promise.all([
    fleet.startHome(),
    fleet.startGuest(),
    fleet.startGuest(),
  ]);
  proxy = await TcpProxy.before(far.cluster.server);
});
after(async () => {
  await proxy?.[Symbol.asyncDispose]();
  for (const member of [home, far, near]) member?.cluster.down();
});

const documentOf = (word: string) => document({ "quay.io": `robot:${word}` });
const source = (word: string) =>
  home.cluster.apply(pullSecret("source-pull-secret", documentOf(word)));
/** Waits until the cluster has this content. Returns how many seconds this took. */
async function placed(word: string, guest: fleet.GuestCluster): Promise<number> {
  const started = performance.now();
  const data = Buffer.from(documentOf(word)).toString("base64");
  await untilPlaced(guest, { ".dockerconfigjson": data });
  return (performance.now() - started) / 1000;
}

/** The cluster's kubeconfig, with the proxy's address. The proxy counts connection attempts. */
function throughProxy(): string {
  const config = JSON.parse(far.kubeconfig) as { clusters: [{ cluster: object }] };
  const [{ cluster }] = config.clusters;
  Object.assign(cluster, { server: `https://127.0.0.1:${proxy.port}` });
  return JSON.stringify(config);
}

/**
 * The cluster is away for `away` seconds. The test counts the attempts of the last `last` seconds.
 */
const [away, last] = [240, 100];

test("when a cluster is away for four minutes, retries less and less often, and delivers within 35 s after the cluster's return", async () => {
  await fleet.declareGuest(home, "far", throughProxy(), labelled);
  await fleet.declareGuest(home, "near", near.kubeconfig, labelled);
  await home.cluster.apply(fleetSecret());
  await source("1");
  await using _controller = fleet.startFleet(home);
  for (const guest of [far, near]) await placed("1", guest);
  for (const name of ["far", "near"]) await untilState(home, name, "Done");

  await far.cluster.stopApiServer();
  const [started, before] = [performance.now(), proxy.tried];
  const gone = () => (performance.now() - started) / 1000;
  await untilState(home, "far", "Unreachable", "GPS438");
  const since = async () => (await fleet.stateOf(home, "far"))?.since;
  const first = await since();
  await source("2");
  const rotations = [await placed("2", near)];
  const so = async () =>
    (await fleet.stateOf(home, "far"))?.state === "Unreachable" && (await since()) === first;
  await stays("the cluster is away", so, (away - last - gone()) * 1000, 1000);
  const early = proxy.tried - before;
  await source("3");
  rotations.push(await placed("3", near));
  await stays("the cluster is away", so, (away - gone()) * 1000, 1000);
  const late = proxy.tried - before - early;

  await far.cluster.startApiServer();
  const back = await placed("3", far);
  await untilState(home, "far", "Done");
  assert.ok(
    Math.max(...rotations) < 5,
    `the other cluster had to wait ${rotations.join(" s, ")} s`,
  );
  assert.ok(back < 35, `the cluster was served ${back} s after its return`);
  // The controller connects in two loops: one reads, one watches. The pauses of each loop grow from
  // half a second to 30 s. Therefore each loop makes at most nine attempts in the first half
  // minute, and then two a minute.
  assert.ok(early <= 2 * (9 + (away - last) / 30), `${early} attempts before`);
  assert.ok(late >= 3 && late <= 2 * (1 + last / 30), `${late} attempts in the last ${last} s`);
});

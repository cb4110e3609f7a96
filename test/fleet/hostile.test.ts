/**
 * A cluster that means ill, beside one that is well: however many events it pours into its watch,
 * the controller, with its Deployment's limits, spends little on it and serves the other.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, afterEach, before, test } from "node:test";
import { auditOf } from "../cluster/audit.ts";
import { until } from "../cluster/await.ts";
import { document, pullSecret } from "../controller/plane.ts";
import * as fleet from "./fleet.ts";
import { fleetSecret, labelled, untilPlaced } from "./fleet.ts";
import { PlayedGuests } from "./played-guest.ts";

const seconds = 15;

let home: fleet.Home;
let real: fleet.Guest;
let played: PlayedGuests;
let controller: ReturnType<typeof fleet.startFleet> | undefined;

before(async () => {
  [home, real] = await Promise.all([fleet.startHome(), fleet.startGuest()]);
  played = await PlayedGuests.start(home.cluster.directory);
});
after(async () => {
  for (const one of [home, real]) one?.cluster.down();
  await played?.[Symbol.asyncDispose]();
});
afterEach(async () => {
  await controller?.[Symbol.asyncDispose]();
  controller = undefined;
  await fleet.clear(home, [real]);
});

const documentOf = (word: string) => document({ "quay.io": `robot:${word}` });
async function follows(word: string): Promise<void> {
  await home.cluster.apply(pullSecret("source-pull-secret", documentOf(word)));
  const data = Buffer.from(documentOf(word)).toString("base64");
  await untilPlaced(real, { ".dockerconfigjson": data });
}

/** Seconds of a processor, and resident MiB, so far. */
function costs(pid: number) {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const [user = 0, system = 0] = stat
    .slice(stat.lastIndexOf(")"))
    .split(" ")
    .slice(12, 14)
    .map(Number);
  const resident = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return { processor: (user + system) / 100, mebibytes: Number(resident) / 1024 };
}

test("a cluster whose watch floods costs a tenth of a processor and bounded memory, and the other follows meanwhile", async () => {
  played.manners.set("ill", "floods");
  await fleet.declareGuest(home, "ill", played.kubeconfig("ill"), labelled);
  await fleet.declareGuest(home, "real", real.kubeconfig, labelled);
  await home.cluster.apply(fleetSecret({ rollout: { canary: 0, maxConcurrency: "100%" } }));
  controller = fleet.startFleet(home, { asDeployed: true });
  await follows("1");
  await until("it pours", () => played.poured > 0);
  const { pid } = controller;
  const [before, since] = [costs(pid), new Date()];
  const asked = played.requests.get("ill")?.length ?? 0;
  await follows("2");
  const over = since.getTime() + seconds * 1000;
  await until("the time is over", () => Date.now() >= over, { every: 250 });
  const now = costs(pid);
  const found = {
    processor: (now.processor - before.processor) / seconds,
    mebibytes: now.mebibytes,
    there: (played.requests.get("ill")?.length ?? 0) - asked,
    here: auditOf(home.cluster, { since: since.toISOString() }).filter(
      ({ user, resource }) => user.endsWith(":global-pull-secret-fleet") && resource !== "leases",
    ).length,
  };
  assert.equal(controller.exited(), undefined);
  assert.ok(found.processor < 0.1, JSON.stringify(found));
  assert.ok(found.mebibytes < 200, JSON.stringify(found));
  // Twenty events, a list and a watch are the most between two pauses, which grow.
  assert.ok(found.there < 40, JSON.stringify(found));
  assert.ok(found.here < 10 * seconds, JSON.stringify(found));
});

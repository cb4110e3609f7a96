/** A hundred changes in a minute: only the last one matters, and none may pile up. */
import { setTimeout as sleep } from "node:timers/promises";
import * as names from "#contract/names.ts";
import { until } from "#test/cluster/await.ts";
import type { Measurement } from "../result/bench.ts";
import { isServed, putAdditional, revisionOf, secrets } from "../testbed/objects.ts";
import { compare } from "../result/result.ts";
import { unreachableNodes } from "../simulated/fake-node.ts";
import type { Simulated } from "../simulated/simulated.ts";

const nodes = 1000;
const changes = 100;
const everyMilliseconds = 600;

export const churn: Measurement = {
  name: "churn",
  run: async (bench) => {
    const simulated = await bench.simulated(nodes);
    await simulated.startController("100%", 5);
    await untilServed(simulated, await documentAt(simulated, "churn-warm"));
    const alone = performance.now();
    await untilServed(simulated, await documentAt(simulated, "churn-alone"));
    const one = (performance.now() - alone) / 1000;
    const [before, since] = [await revision(simulated), Date.now()];
    const started = performance.now();
    let last = "";
    for (let turn = 1; turn <= changes; turn++) {
      last = await documentAt(simulated, `churn-${turn}`);
      await sleep(Math.max(0, started + turn * everyMilliseconds - performance.now()));
    }
    const written = Date.now();
    await untilServed(simulated, last);
    const revisions = (await revision(simulated)) - before;
    const templates = simulated.syncer.seen
      .filter(({ at }) => at > since)
      .map(({ object }) => revisionOf(object));
    const rollouts = new Set(templates.filter((template) => template > before)).size;
    await simulated.stopController();
    return [
      compare(
        {
          name: `churn, ${nodes} nodes, 100 changes in a minute`,
          unit: "revisions",
          against: "rollouts + 1",
          atMost: 1,
        },
        [[revisions, rollouts + 1]],
      ),
      // Behind the rollout that is under way, and its own: a queue would be longer.
      compare(
        {
          name: `churn, ${nodes} nodes, last change served after`,
          unit: "s",
          against: "a change alone",
          atMost: 2,
        },
        [[(Date.now() - written) / 1000, one]],
      ),
    ];
  },
};

/** Writes a credential; answers what the nodes will have for it. */
async function documentAt({ api }: Simulated, password: string): Promise<string> {
  const auth = Buffer.from(`bench:${password}`).toString("base64");
  await putAdditional(api, JSON.stringify({ auths: { "private.example": { auth } } }));
  return auth;
}

async function untilServed(simulated: Simulated, auth: string): Promise<void> {
  const bounds = { timeout: 600_000, every: 500 };
  await until("the change is served", () => isAtRest(simulated, auth), bounds);
}

type Published = { data: Record<string, string> };

async function isAtRest(simulated: Simulated, auth: string): Promise<boolean> {
  const found = await simulated.api.get<Published>(`${secrets}/${names.globalSecretName}`);
  const document = Buffer.from(found?.data[names.secretKeys.document] ?? "", "base64").toString();
  const current = simulated.syncer.current();
  if (current === undefined || !document.includes(auth)) return false;
  return isServed(current, unreachableNodes) && revisionOf(current) === numberOf(found);
}

async function revision({ api }: Simulated): Promise<number> {
  return numberOf(await api.get<Published>(`${secrets}/${names.globalSecretName}`));
}

function numberOf(found: Published | undefined): number {
  return Number(Buffer.from(found?.data[names.secretKeys.revision] ?? "", "base64").toString());
}

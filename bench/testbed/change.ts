/**
 * A change of the credential, from the write of additional-pull-secret to the last node that has
 * it.
 */
import type { V1DaemonSet, V1Secret } from "@kubernetes/client-node";
import { setTimeout as sleep } from "node:timers/promises";
import { secretKeys } from "#contract/names.ts";
import type { Testbed } from "./testbed.ts";
import { isServed, putAdditional, revisionOf } from "./objects.ts";
import type { Sighting } from "../observe/watched-objects.ts";

export type MeasuredChange = Readonly<{
  begun: number;
  revision: number;
  /**
   * Milliseconds from the request to the first answer of the last node's kubelet that was started
   * with it.
   */
  healthy: number;
  /** Milliseconds from the request until every node has it available. */
  served: number;
  /** Milliseconds without healthz, by node. */
  silent: readonly number[];
}>;

let calms = 0;

/**
 * Time for the kubelets' relists and the pods' terminations of the round before; the same before
 * every side of every round, but for the part of a second. Kubelets act once a second, from their
 * start on: without it every round would meet the same moment.
 */
export async function calm(): Promise<void> {
  calms += 1;
  // Multiples of the golden ratio spread evenly, however many there are.
  await sleep(4000 + 1000 * ((calms * 0.618034) % 1));
}

/**
 * Writes another password and waits until every node has it. The product is idle before and
 * afterwards.
 */
export async function change(testbed: Testbed, document?: string): Promise<MeasuredChange> {
  const password = `password-${testbed.nextRevision()}`;
  const auth = Buffer.from(`bench:${password}`).toString("base64");
  const current = testbed.global.current();
  const before = current === undefined ? 0 : publishedIn(current);
  const begun = Date.now();
  await putAdditional(
    testbed.api,
    document ?? JSON.stringify({ auths: { "private.example": { auth } } }),
  );
  const published = await testbed.global.first(
    "a new revision is published",
    ({ object, gone }) => !gone && publishedIn(object) > before,
    begun,
  );
  const revision = publishedIn(published.object);
  const backs = testbed.nodes.map(({ healthz }) => healthz.backAfter(begun));
  const { at } = await testbed.syncer.first(
    `revision ${revision} is served`,
    ({ object, gone }) => !gone && revisionOf(object) === revision && isServed(object),
    begun,
  );
  const healthy = Math.max(...(await Promise.all(backs))) - begun;
  if (document === undefined) {
    for (const { node } of testbed.nodes)
      if (!node.readFile("config.json")?.toString().includes(auth))
        throw new Error(`${node.name} has it not`);
  }
  return {
    begun,
    revision,
    healthy,
    served: at - begun,
    silent: testbed.nodes.map(({ healthz }) => healthz.silence(begun)),
  };
}

function publishedIn({ data }: V1Secret): number {
  return Number(Buffer.from(data?.[secretKeys.revision] ?? "", "base64").toString());
}

/**
 * Makes sure that a document is in force on every node, so that what follows is a change and no
 * first creation.
 */
export async function ensureInForce(testbed: Testbed): Promise<void> {
  const inForce = ({ object, gone }: Sighting<V1DaemonSet>) =>
    !gone &&
    revisionOf(object) > 0 &&
    isServed(object) &&
    object.status?.desiredNumberScheduled === testbed.nodes.length;
  const last = testbed.syncer.seen.at(-1);
  if (last !== undefined && inForce(last)) return;
  const since = Date.now();
  await putAdditional(
    testbed.api,
    JSON.stringify({ auths: { "private.example": { auth: "YmVuY2g6Zmlyc3Q=" } } }),
  );
  await testbed.syncer.first(
    "the first revision is served",
    inForce,
    last?.gone === false ? last.at : since,
  );
}

/**
 * A change of the credential, from the write of additional-pull-secret until the last node has it.
 */
import type { V1Pod, V1Secret } from "@kubernetes/client-node";
import { setTimeout as sleep } from "node:timers/promises";
import type { GlobalPullSecret } from "#api/global-pull-secret.ts";
import { namespace, secretKeys, stateSecretName } from "#contract/names.ts";
import { until } from "#test/cluster/await.ts";
import type { Testbed } from "./testbed.ts";
import { putAdditional } from "./objects.ts";

export type MeasuredChange = Readonly<{
  begun: number;
  revision: number;
  /**
   * Milliseconds from the write until a kubelet that started with the new file answers: on the
   * first node (`first`) and on the last node (`healthy`).
   */
  first: number;
  healthy: number;
  /** Milliseconds from the write until status reports that the change is in force. */
  served: number;
  /** Each node's milliseconds without an answer from healthz. */
  silent: readonly number[];
}>;

let calms = 0;

/**
 * Waits until the effects of the previous round are over: kubelets relist, and old pods end. The
 * pause has the same length before every measurement, except for a fraction of a second. Kubelets
 * act once a second, and without the fraction every round would begin at the same moment of that
 * second.
 */
export async function calm(): Promise<void> {
  calms += 1;
  // Fractions of multiples of the golden ratio are evenly spread, for any number of rounds.
  await sleep(4000 + 1000 * ((calms * 0.618034) % 1));
}

/**
 * Forgets the last publications. After six of them the controller would publish once in ten minutes
 * only, as it does for sources that change for ever. Waits until the controller's run after this
 * write is over: the pause after a run (0.2 s) would otherwise count as the product's time.
 */
async function forgetPublications(api: Testbed["api"]): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}/secrets/${stateSecretName}`;
  const secret = await api.get<V1Secret>(path);
  const rollout = secret?.data?.["rollout"];
  if (rollout === undefined) return;
  const state = JSON.parse(Buffer.from(rollout, "base64").toString()) as object;
  const text = JSON.stringify({ ...state, bucketUntil: 0 });
  const data = { ...secret?.data, rollout: Buffer.from(text).toString("base64") };
  await api.replace(path, { ...secret, data });
  await sleep(1000);
}

/** Writes a document (at `begun`), and waits until it is in force (at `at`). Milliseconds. */
export async function putAndWait(
  testbed: Pick<Testbed, "api" | "global" | "object">,
  document: string,
  timeout?: number,
): Promise<Readonly<{ begun: number; revision: number; at: number }>> {
  const current = testbed.global.current();
  const before = current === undefined ? 0 : publishedIn(current);
  await forgetPublications(testbed.api);
  const begun = Date.now();
  await putAdditional(testbed.api, document);
  const published = await testbed.global.first(
    "a new revision is published",
    ({ object, gone }) => !gone && publishedIn(object) > before,
    begun,
    timeout,
  );
  const revision = publishedIn(published.object);
  const { at } = await testbed.object.first(
    `revision ${revision} is in force`,
    ({ object, gone }) => !gone && isInForce(object, revision),
    begun,
    timeout,
  );
  return { begun, revision, at };
}

/**
 * Writes this document, or a new password, and waits until every node has it. The product must be
 * idle.
 */
export async function change(testbed: Testbed, document?: string): Promise<MeasuredChange> {
  const password = `password-${testbed.nextRevision()}`;
  const auth = Buffer.from(`bench:${password}`).toString("base64");
  const text = document ?? JSON.stringify({ auths: { "private.example": { auth } } });
  const { begun, revision, at } = await putAndWait(testbed, text);
  const backs = await Promise.all(testbed.nodes.map(({ healthz }) => healthz.backAfter(begun)));
  if (document === undefined) {
    for (const { node } of testbed.nodes)
      if (!node.readFile("config.json")?.toString().includes(auth))
        throw new Error(`${node.name} does not have it`);
  }
  return {
    begun,
    revision,
    first: Math.min(...backs) - begun,
    healthy: Math.max(...backs) - begun,
    served: at - begun,
    silent: testbed.nodes.map(({ healthz }) => healthz.silence(begun)),
  };
}

function publishedIn({ data }: V1Secret): number {
  return Number(Buffer.from(data?.[secretKeys.revision] ?? "", "base64").toString());
}

function isInForce({ status }: GlobalPullSecret, revision: number): boolean {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  return status?.revision?.inForce === revision && ready?.status === "True";
}

/**
 * Makes sure that every node has a document, so that the next write is a change and not a creation.
 */
export async function ensureInForce(testbed: Testbed): Promise<void> {
  const current = testbed.global.current();
  const object = testbed.object.current();
  if (current === undefined || object === undefined || !isInForce(object, publishedIn(current))) {
    const auth = Buffer.from(`bench:first-${testbed.nextRevision()}`).toString("base64");
    await putAndWait(testbed, JSON.stringify({ auths: { "private.example": { auth } } }));
  }
  // A node that joined later takes the document by itself.
  const { api, nodes } = testbed;
  const agents = { labelSelector: "name=global-pull-secret-syncer" };
  await until("every node has it", async () => {
    const pods: V1Pod[] = [];
    const path = "/api/v1/namespaces/kube-system/pods";
    await api.pages<V1Pod>(path, agents, (items) => void pods.push(...items));
    const ready = pods.filter(({ status }) =>
      status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True"),
    );
    return (
      ready.length === nodes.length &&
      nodes.every(({ node }) => node.readFile("config.json")?.includes("private.example"))
    );
  });
}

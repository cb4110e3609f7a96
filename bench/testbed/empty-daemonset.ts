/**
 * The baseline: a DaemonSet that does nothing, with the same priority, tolerations, network and
 * minReadySeconds as the agents'. Its container notes its start in a file of the node and ends at
 * once when told to. And the bare restart.
 */
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import * as names from "#contract/names.ts";
import { until } from "#test/cluster/await.ts";
import type { Testbed } from "./testbed.ts";
import type { Healthz } from "../observe/healthz.ts";
import { daemonSets, isServed, put, remove, revisionOf } from "./objects.ts";

const name = "bench-empty";
const path = `${daemonSets}/${name}`;
const command =
  'trap "exit 0" TERM; : > /started/$REVISION; while :; do sleep 3600 & wait $!; done';

export type Rollout = Readonly<{
  /** Milliseconds from the request to the start of the container on the last node. */
  started: number;
  /** Milliseconds from the request until every node has it available. */
  served: number;
}>;

/**
 * Creates the empty DaemonSet, or gives its template another revision; returns when every node has
 * it.
 */
export async function rollEmpty(
  testbed: Testbed,
  maxUnavailable: number | string,
  minReadySeconds = testbed.minReadySeconds,
): Promise<Rollout> {
  const revision = testbed.nextRevision();
  const begun = Date.now();
  await put(testbed.api, path, daemonSet(testbed, revision, maxUnavailable, minReadySeconds));
  const starts = testbed.nodes.map(({ node }) =>
    startedAt(join(node.rootfs, "var/lib/bench", String(revision))),
  );
  const { at } = await testbed.emptySet.first(
    "the empty DaemonSet is rolled out",
    ({ object, gone }) => !gone && revisionOf(object) === revision && isServed(object),
    begun,
  );
  return { started: Math.max(...(await Promise.all(starts))) - begun, served: at - begun };
}

export async function removeEmpty(testbed: Testbed): Promise<void> {
  const since = Date.now();
  if ((await testbed.api.get(path)) === undefined) return;
  await remove(testbed.api, path);
  await testbed.emptySet.first("the empty DaemonSet is gone", ({ gone }) => gone, since);
  await until(
    "its pods are gone",
    async () =>
      (await testbed.cluster.kubectl("get", "pods", "-A", "-l", `name=${name}`, "-o", "name")) ===
      "",
  );
}

/** `systemctl restart kubelet`; milliseconds until its healthz answers again. */
export async function bareRestart(
  testbed: Testbed,
  index: number,
): Promise<Readonly<{ took: number; silent: number }>> {
  const { node, healthz } = testbed.nodes[index] as {
    node: Testbed["nodes"][number]["node"];
    healthz: Healthz;
  };
  const begun = Date.now();
  await node.exec(["systemctl", "restart", "kubelet.service"]);
  const took = (await healthz.backAfter(begun)) - begun;
  return { took, silent: healthz.silence(begun) };
}

/** Milliseconds of the wall clock. The kernel dates files by the same clock. */
async function startedAt(file: string): Promise<number> {
  return await until(
    "the container has started",
    () => existsSync(file) && statSync(file).mtimeMs,
    {
      timeout: 120_000,
      every: 20,
    },
  );
}

function daemonSet(
  testbed: Testbed,
  revision: number,
  maxUnavailable: number | string,
  minReadySeconds: number,
): object {
  const labels = { name };
  const annotation = `metadata.annotations['${names.revisionAnnotation}']`;
  return {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name, namespace: names.namespace },
    spec: {
      selector: { matchLabels: labels },
      minReadySeconds,
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable } },
      template: {
        metadata: { labels, annotations: { [names.revisionAnnotation]: String(revision) } },
        spec: {
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          hostNetwork: true,
          tolerations: [{ operator: "Exists" }],
          priorityClassName: "system-node-critical",
          containers: [
            {
              name: "empty",
              image: testbed.emptyImage,
              command: ["/bin/sh", "-c", command],
              env: [{ name: "REVISION", valueFrom: { fieldRef: { fieldPath: annotation } } }],
              volumeMounts: [{ name: "started", mountPath: "/started" }],
            },
          ],
          volumes: [
            { name: "started", hostPath: { path: "/var/lib/bench", type: "DirectoryOrCreate" } },
          ],
        },
      },
    },
  };
}

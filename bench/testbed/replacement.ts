/**
 * The replacement method, which HyperShift uses: a Secret changes together with its hash in a
 * DaemonSet's template. The DaemonSet controller replaces each pod, and the new pod writes the file
 * and restarts its kubelet at once. There is no canary, no health check of the kubelet and no
 * rollback. Here the agent is a shell script, which starts faster than a program in Go or Node. The
 * bench writes both objects, therefore the time includes no controller's delay. The file is not
 * config.json, so that our agents ignore it.
 */
import type { V1DaemonSet } from "@kubernetes/client-node";
import * as names from "#contract/names.ts";
import type { Testbed } from "./testbed.ts";
import { type Budget, daemonSets, put, replacementName, secrets } from "./objects.ts";

const hash = "bench.example/hash";
const script = `trap "exit 0" TERM
/bin/busybox nsenter -t 1 -m /bin/sh -c \
  "cat >/var/lib/bench-config.json && systemctl restart kubelet.service" </secret/config
while :; do sleep 3600 & wait $!; done`;

/**
 * Rotates once. Returns milliseconds from the writes of the Secret and the DaemonSet until the last
 * node's kubelet is healthy.
 */
export async function rotateByReplacement(
  testbed: Testbed,
  maxUnavailable: Budget,
): Promise<number> {
  const revision = String(testbed.nextRevision());
  const begun = Date.now();
  await Promise.all([
    put(testbed.api, `${secrets}/${replacementName}`, secretOf(revision)),
    put(
      testbed.api,
      `${daemonSets}/${replacementName}`,
      daemonSet(testbed, revision, maxUnavailable),
    ),
  ]);
  const backs = await Promise.all(testbed.nodes.map(({ healthz }) => healthz.backAfter(begun)));
  await testbed.replacement.first(
    "every pod is replaced",
    ({ object, gone }) => !gone && isReplaced(object, revision, testbed.nodes.length),
    begun,
  );
  for (const { node } of testbed.nodes)
    if (!node.readFile("../bench-config.json")?.toString().includes(`"${revision}"`))
      throw new Error(`${node.name} does not have it`);
  return Math.max(...backs) - begun;
}

function isReplaced({ metadata, spec, status }: V1DaemonSet, revision: string, nodes: number) {
  return (
    spec?.template.metadata?.annotations?.[hash] === revision &&
    status?.observedGeneration === metadata?.generation &&
    status?.updatedNumberScheduled === nodes &&
    status.numberAvailable === nodes
  );
}

const secretOf = (revision: string) => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: replacementName, namespace: names.namespace },
  data: { config: Buffer.from(JSON.stringify({ auths: {}, revision })).toString("base64") },
});

function daemonSet(testbed: Testbed, revision: string, maxUnavailable: Budget): object {
  const labels = { name: replacementName };
  const container = {
    name: "agent",
    image: testbed.shellImage,
    command: ["/bin/sh", "-c", script],
    // The container runs the node's systemctl.
    securityContext: { privileged: true },
    volumeMounts: [{ name: "secret", mountPath: "/secret" }],
  };
  return {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name: replacementName, namespace: names.namespace },
    spec: {
      selector: { matchLabels: labels },
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable } },
      template: {
        metadata: { labels, annotations: { [hash]: revision } },
        spec: {
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          hostNetwork: true,
          hostPID: true,
          tolerations: [{ operator: "Exists" }],
          priorityClassName: "system-node-critical",
          containers: [container],
          volumes: [{ name: "secret", secret: { secretName: replacementName } }],
        },
      },
    },
  };
}

/**
 * Nodes as clusters have them: 20 kB each with what the API server adds, most of it the list of
 * images, and one of them unreachable. A survey reads them all, so that what it costs is what they
 * weigh.
 */

/** The label of the nodes for which kwok answers. */
export const fakeLabel = "bench.example/fake";

/** Nodes of every simulated cluster that are unreachable from the beginning. */
export const unreachableNodes = 1;

/** Images that a kubelet tells of: its 50 largest, each with a tag and a digest. */
const imagesTold = 50;

/** A node that kwok makes Ready. */
export function fakeNode(index: number): object {
  return nodeOf(`fake-${index}`, { [fakeLabel]: "yes" }, []);
}

/** A node that fell silent before anybody looked: it has no kubelet, and no fake one. */
export function unreachableNode(): object {
  const lastHeartbeatTime = new Date(0).toISOString();
  const ready = { type: "Ready", status: "Unknown", reason: "NodeStatusUnknown" };
  const condition = { ...ready, lastHeartbeatTime, lastTransitionTime: lastHeartbeatTime };
  return nodeOf("fake-unreachable", {}, [condition]);
}

function nodeOf(
  name: string,
  labels: Readonly<Record<string, string>>,
  conditions: readonly object[],
): object {
  const has = { cpu: "16", memory: "64Gi", pods: "250" };
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name,
      labels: { "kubernetes.io/os": "linux", "kubernetes.io/hostname": name, ...labels },
      annotations: { "bench.example/machine": `${name} `.repeat(4000 / (name.length + 1)) },
    },
    status: { capacity: has, allocatable: has, images: images(name), conditions },
  };
}

function images(node: string): object[] {
  return Array.from({ length: imagesTold }, (_, index) => {
    const image = `registry.example.com/platform/component-${index}`;
    const digest = Buffer.from(`${node} ${index}`).toString("hex").padStart(64, "0").slice(-64);
    const names = [`${image}@sha256:${digest}`, `${image}:v1.${index}.0-${digest}`];
    return { names, sizeBytes: 100_000_000 + index };
  });
}

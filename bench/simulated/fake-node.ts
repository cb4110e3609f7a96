/**
 * Node objects as large as in real clusters: 20 kB each with the API server's own fields. The list
 * of images is the largest part. Some nodes are unreachable.
 */
import type { Condition } from "#test/harness/nodes/nodes.ts";
import { nodeObject } from "#test/harness/nodes/objects.ts";

/** A kubelet reports only its 50 largest images, each with a tag and a digest. */
const imagesReported = 50;

export function fakeNode(name: string): object {
  return weighted(name, { is: true, since: Date.now() / 1000 });
}

/** An unreachable node: it has no kubelet, not even a fake one. */
export function unreachableNode(name: string): object {
  return weighted(name, { is: false, since: 0 });
}

function weighted(name: string, ready: Condition): object {
  const { metadata, status, ...node } = nodeObject(name, ready);
  const annotations = { "bench.example/machine": `${name} `.repeat(4000 / (name.length + 1)) };
  return {
    ...node,
    metadata: { ...metadata, annotations },
    status: { ...status, images: images(name) },
  };
}

function images(node: string): object[] {
  return Array.from({ length: imagesReported }, (_, index) => {
    const image = `registry.example.com/platform/component-${index}`;
    const digest = Buffer.from(`${node} ${index}`).toString("hex").padStart(64, "0").slice(-64);
    const names = [`${image}@sha256:${digest}`, `${image}:v1.${index}.0-${digest}`];
    return { names, sizeBytes: 100_000_000 + index };
  });
}

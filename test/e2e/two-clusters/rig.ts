/**
 * Two clusters with one node each that reach each other, and a desk: a folder in which a test runs
 * the commands of a page, with contexts of both clusters.
 */
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import type { Cluster } from "#test/cluster/cluster.ts";
import type { Node } from "#test/cluster/node.ts";
import { deskAt, type Desk } from "#test/page.ts";

/** `image` is our image, under the same name in both clusters, as if from one registry. */
export type BothClusters = Readonly<{ management: Cluster; guest: Cluster; image: string }>;

export const root = join(import.meta.dirname, "../../..");
export const password = "planted-5b1e";

/** The registry's name and the tag, separately. */
export function parts(image: string): readonly [name: string, tag: string] {
  const at = image.lastIndexOf(":");
  return [image.slice(0, at), image.slice(at + 1)];
}

/** Replaces a page's placeholder by the image. */
export function withImage(text: string, image: string): string {
  const [name, tag] = parts(image);
  return text
    .replace(/ *newName: .*\n/, "")
    .replace(/newTag: .*/, `newName: ${name}\n    newTag: ${tag}`);
}

export function imageValues(image: string): readonly string[] {
  const [name, tag] = parts(image);
  return [`--set=image.repository=${name}`, `--set-string=image.tag=${tag}`];
}

type Around = Readonly<{
  contexts: Readonly<Record<string, Cluster>>;
  env?: Readonly<Record<string, string>>;
  programs?: Readonly<Record<string, string>>;
}>;

/** A new desk, in the folder of the first context's cluster. */
export function newDesk({ contexts, ...around }: Around): Desk {
  const [{ directory }] = Object.values(contexts) as [Cluster];
  const folder = join(directory, "desk");
  rmSync(folder, { recursive: true, force: true });
  return deskAt(folder, { contexts, ...around });
}

export const nodeOf = ({ nodes }: Cluster): Node => nodes[0] ?? assert.fail("no node");

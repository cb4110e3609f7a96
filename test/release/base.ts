/**
 * A base image for both architectures, like the pinned base image. For this machine's architecture
 * it is the tests' base image. For the other architecture Node is a text file, so that a build
 * fails if it tries to run this Node.
 */
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Descriptor } from "#tools/release/layout.ts";
import { architecture, writeLayout } from "../cluster/kit/images.ts";
import { setUp } from "../cluster/setup.ts";

export const architectures = ["amd64", "arm64"];

/** The release reads Node's version from a URL in the binary. */
const nodeText = `https://nodejs.org/node-v${process.versions.node}-headers.tar.gz`;

/** Writes the base image as an OCI layout to `directory`. */
export async function writeBase(directory: string): Promise<void> {
  const { images } = await setUp();
  const halves = await Promise.all(
    architectures.map(async (target) => {
      if (target === architecture) return { one: target, layout: images.base };
      const [layout, tree] = [`${directory}-${target}`, `${directory}-${target}-tree`];
      mkdirSync(join(tree, "nodejs/bin"), { recursive: true });
      writeFileSync(join(tree, "nodejs/bin/node"), nodeText);
      await writeLayout(layout, tree, { Entrypoint: ["/nodejs/bin/node"] }, target);
      return { one: target, layout };
    }),
  );
  const manifests = halves.map(({ one: target, layout }) => {
    cpSync(join(layout, "blobs"), join(directory, "blobs"), { recursive: true });
    const { mediaType, digest, size } = onlyEntry(layout);
    return { mediaType, digest, size, platform: { os: "linux", architecture: target } };
  });
  const mediaType = "application/vnd.oci.image.index.v1+json";
  const index = JSON.stringify({ schemaVersion: 2, mediaType, manifests });
  const hex = createHash("sha256").update(index).digest("hex");
  writeFileSync(join(directory, "blobs/sha256", hex), index);
  const entry = { mediaType, digest: `sha256:${hex}`, size: index.length };
  const top = JSON.stringify({ schemaVersion: 2, manifests: [entry] });
  writeFileSync(join(directory, "index.json"), top);
  cpSync(join(images.base, "oci-layout"), join(directory, "oci-layout"));
}

function onlyEntry(layout: string): Descriptor {
  const { manifests } = JSON.parse(readFileSync(join(layout, "index.json"), "utf8")) as {
    manifests: Descriptor[];
  };
  const [entry, ...more] = manifests;
  if (entry === undefined || more.length > 0)
    throw new Error(`${layout}: expected exactly one image`);
  return entry;
}

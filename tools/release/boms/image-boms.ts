/** The content of the image for each architecture: the bundled packages, Node, and the base. */
import { run } from "#test/cluster/run.ts";
import { only, type Boms, type Package } from "./boms.ts";
import type { Image } from "../layout.ts";

type Part = Readonly<{ ref: string; type: string; name: string; version: string; purl: string }>;

/** `packages`: as `name@version`. `base`: the base's name, without registry and tag. */
export async function imageBoms(
  all: Boms,
  packages: ReadonlySet<string>,
  image: Image,
  base: string,
): Promise<Boms> {
  const { cyclonedx, spdx } = only(all, packages);
  const parts = (
    await Promise.all(image.platforms.map((platform) => partsOf(platform, base)))
  ).flat();
  const purl = `pkg:oci/global-pull-secret@${encodeURIComponent(image.digest)}`;
  const component = { ...cyclonedx.metadata.component, type: "container", purl };
  const [root, ...rest] = spdx.packages;
  if (root === undefined) throw new Error("npm sbom lists nothing");
  const described: Package = {
    ...root,
    primaryPackagePurpose: "CONTAINER",
    externalRefs: references(purl),
  };
  const added = parts.map(({ ref, name, version, purl: locator }): Package => ({
    name,
    SPDXID: `SPDXRef-${ref.replaceAll(/[^\w.-]/g, "-")}`,
    versionInfo: version,
    downloadLocation: "NOASSERTION",
    filesAnalyzed: false,
    externalRefs: references(locator),
  }));
  const contains = added.map(({ SPDXID }) => ({
    spdxElementId: root.SPDXID,
    relatedSpdxElement: SPDXID,
    relationshipType: "CONTAINS",
  }));
  return {
    cyclonedx: {
      ...cyclonedx,
      metadata: { ...cyclonedx.metadata, component },
      components: [
        ...cyclonedx.components,
        ...parts.map(({ ref, ...part }) => Object.assign({ "bom-ref": ref }, part)),
      ],
    },
    spdx: {
      ...spdx,
      packages: [described, ...rest, ...added],
      relationships: [...spdx.relationships, ...contains],
    },
  };
}

function references(purl: string) {
  return [{ referenceCategory: "PACKAGE-MANAGER", referenceType: "purl", referenceLocator: purl }];
}

async function partsOf(
  { architecture, layers, annotations }: Image["platforms"][number],
  name: string,
): Promise<Part[]> {
  const digest = annotations["org.opencontainers.image.base.digest"] ?? "";
  const version = await nodeVersion(layers);
  return [
    {
      ref: `base-${architecture}`,
      type: "container",
      name,
      version: digest,
      purl: `pkg:oci/${name}@${encodeURIComponent(digest)}?arch=${architecture}`,
    },
    {
      ref: `node-${architecture}@${version}`,
      type: "application",
      name: "node",
      version,
      purl: `pkg:generic/node@${version}?arch=${architecture}`,
    },
  ];
}

/**
 * The version of /nodejs/bin/node. Reads it from the binary, which contains the address of its
 * headers, and never runs the binary. The base has no other record of the version.
 */
async function nodeVersion(layers: readonly string[]): Promise<string> {
  for (const layer of layers) {
    const listed = await run(["tar", "-tzf", layer]);
    const path = listed.split("\n").find((line) => /^(?:\.?\/)?nodejs\/bin\/node$/.test(line));
    if (path === undefined) continue;
    const search = `tar -xzOf "$0" "$1" | grep -aom1 'node-v[0-9.]*-headers' | head -n 1`;
    const output = await run(["sh", "-c", search, layer, path]);
    const version = /node-v([\d.]+)-headers/.exec(output)?.[1];
    if (version !== undefined) return version;
  }
  throw new Error(`no layer has /nodejs/bin/node with its version: ${layers.join(", ")}`);
}

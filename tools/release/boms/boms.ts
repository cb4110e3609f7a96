/**
 * Bills of materials in both formats, CycloneDX and SPDX, with types for the parts that we read and
 * change.
 */
import { createHash } from "node:crypto";

type Others = Readonly<Record<string, unknown>>;

type Component = Others & Readonly<{ "bom-ref": string; type: string; name: string }>;

export type CycloneDx = Others &
  Readonly<{
    metadata: Others & Readonly<{ timestamp: string; component: Component }>;
    components: readonly Component[];
    dependencies: readonly Readonly<{ ref: string; dependsOn: readonly string[] }>[];
  }>;

export type Package = Others & Readonly<{ SPDXID: string; name: string; versionInfo: string }>;

type Relationship = Readonly<{
  spdxElementId: string;
  relatedSpdxElement: string;
  relationshipType: string;
}>;

export type Spdx = Others &
  Readonly<{
    name: string;
    documentNamespace: string;
    documentDescribes: readonly string[];
    creationInfo: Others & Readonly<{ created: string }>;
    packages: readonly Package[];
    relationships: readonly Relationship[];
  }>;

export type Boms = Readonly<{ cyclonedx: CycloneDx; spdx: Spdx }>;

/** Keeps only the subject and the packages in `keep`, each as `name@version`. */
export function only({ cyclonedx, spdx }: Boms, keep: ReadonlySet<string>): Boms {
  const components = cyclonedx.components.filter((component) => keep.has(component["bom-ref"]));
  const refs = new Set([cyclonedx.metadata.component["bom-ref"], ...keep]);
  const dependencies = cyclonedx.dependencies.flatMap(({ ref, dependsOn }) =>
    refs.has(ref)
      ? [{ ref, dependsOn: dependsOn.filter((dependency) => refs.has(dependency)) }]
      : [],
  );
  const packages = spdx.packages.filter(
    ({ SPDXID, name, versionInfo }) =>
      spdx.documentDescribes.includes(SPDXID) || keep.has(`${name}@${versionInfo}`),
  );
  const ids = new Set(["SPDXRef-DOCUMENT", ...packages.map(({ SPDXID }) => SPDXID)]);
  const relationships = spdx.relationships.filter(
    (relationship) =>
      ids.has(relationship.spdxElementId) && ids.has(relationship.relatedSpdxElement),
  );
  return {
    cyclonedx: { ...cyclonedx, components, dependencies },
    spdx: { ...spdx, packages, relationships },
  };
}

/**
 * Makes both documents depend only on their content and on `created` (seconds since 1970). SPDX
 * requires a unique namespace, for which we use a digest of the document. Removes CycloneDX's
 * serial number, which is optional.
 */
export function stamp({ cyclonedx, spdx }: Boms, created: number): Boms {
  const time = new Date(created * 1000).toISOString().replace(".000Z", "Z");
  const { serialNumber: _, ...rest } = cyclonedx;
  const creationInfo = { ...spdx.creationInfo, created: time };
  const unnamed = { ...spdx, documentNamespace: "", creationInfo };
  const digest = createHash("sha256").update(JSON.stringify(unnamed)).digest("hex");
  return {
    cyclonedx: { ...rest, metadata: { ...rest.metadata, timestamp: time } },
    spdx: { ...unnamed, documentNamespace: `https://spdx.org/spdxdocs/${spdx.name}-${digest}` },
  };
}

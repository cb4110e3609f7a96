/** Reads an OCI layout with exactly one image index, as this project writes it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

export type Descriptor = Readonly<{
  mediaType: string;
  digest: string;
  size: number;
  platform?: Readonly<{ os: string; architecture: string }>;
}>;

type Manifest = Readonly<{
  config: Descriptor;
  layers: readonly Descriptor[];
  annotations?: Readonly<Record<string, string>>;
}>;

type Config = Readonly<{
  created: string;
  architecture: string;
  config: Readonly<Record<string, unknown>> & Readonly<{ Labels?: Record<string, string> }>;
}>;

export type Image = Readonly<{
  /** The digest of the image index, by which clients pull. */
  digest: string;
  platforms: readonly Readonly<{
    architecture: string;
    digest: string;
    /** Paths of the image's layers, beginning with the lowest layer. */
    layers: readonly string[];
    config: Config;
    annotations: Readonly<Record<string, string>>;
  }>[];
}>;

/** Reads the layout. Throws unless it has exactly one image index. */
export function readLayout(layout: string): Image {
  const blob = ({ digest }: Descriptor): string => join(layout, "blobs", digest.replace(":", "/"));
  const read = <T>(path: string): T => JSON.parse(readFileSync(path, "utf8")) as T;
  type Index = Readonly<{ manifests: readonly Descriptor[] }>;
  const [top, ...more] = read<Index>(join(layout, "index.json")).manifests;
  if (top?.mediaType !== "application/vnd.oci.image.index.v1+json" || more.length > 0)
    throw new Error(`${layout}: does not hold exactly one image index`);
  const platforms = read<Index>(blob(top)).manifests.map((entry) => {
    const manifest = read<Manifest>(blob(entry));
    return {
      architecture: entry.platform?.architecture ?? "",
      digest: entry.digest,
      layers: manifest.layers.map(blob),
      config: read<Config>(blob(manifest.config)),
      annotations: manifest.annotations ?? {},
    };
  });
  return { digest: top.digest, platforms };
}

/** The released manifests, install.yaml and the chart, with the image's digest. */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { crdFile, nodeCrdFile } from "../definition/crd.ts";
import { gzip, tar } from "./archive.ts";

/**
 * `image`: the image's registry and name, such as `registry.example.com/team/global-pull-secret`.
 */
export type Released = Readonly<{ image: string; digest: string; created: number }>;

/** Writes the objects of `kubectl apply -k manifests`, with the released image. */
export function writeInstallYaml(
  repository: string,
  file: string,
  { image, digest }: Released,
): void {
  const rendered = readFileSync(join(repository, "manifests/base/rendered.yaml"), "utf8");
  const places = /^( +(?:globalpullsecret\.io\/agent-)?image: )"?global-pull-secret:.*$/gm;
  const text = `${crdsYaml(repository)}---\n${rendered}`;
  if (text.match(places)?.length !== 2) throw new Error("install.yaml: does not name two images");
  writeFileSync(file, text.replaceAll(places, `$1${image}@${digest}`));
}

/** The CRDs that the controller needs, as one file. */
export function crdsYaml(repository: string): string {
  const texts = [crdFile, nodeCrdFile].map((path) => readFileSync(join(repository, path), "utf8"));
  return texts.join("");
}

/** Packs the chart like `helm package`, but always with the same bytes. */
export async function packChart(
  repository: string,
  archive: string,
  { image, digest, created }: Released,
): Promise<void> {
  const staged = `${archive}.staged`;
  const chart = join(staged, "global-pull-secret");
  mkdirSync(staged, { recursive: true });
  cpSync(join(repository, "manifests/chart"), chart, { recursive: true });
  const values = readFileSync(join(chart, "values.yaml"), "utf8");
  writeFileSync(join(chart, "values.yaml"), pinned(values, image, digest));
  const plain = `${archive}.tar`;
  await tar(plain, staged, ["global-pull-secret"], created);
  gzip(plain, archive);
  for (const path of [staged, plain]) rmSync(path, { recursive: true });
}

/** The chart's values, with this image as their default. */
function pinned(values: string, image: string, digest: string): string {
  return Object.entries({ repository: image, digest: `"${digest}"` }).reduce(
    (text, [name, value]) => {
      const line = new RegExp(`^(  ${name}: ).*$`, "m");
      if (!line.test(text)) throw new Error(`manifests/chart/values.yaml: has no image.${name}`);
      return text.replace(line, `$1${value}`);
    },
    values,
  );
}

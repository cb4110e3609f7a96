/**
 * `npm run release`: makes all files of a version, in dist/release-VERSION. The same commit results
 * in the same bytes, with the same npm, buildah and tar.
 *
 * `--base LAYOUT` takes the base from an OCI layout on disk, for machines that cannot reach the
 * base's registry. `--image NAME` is the image's registry and name, which install.yaml and the
 * chart use with its digest. `--url URL` is the folder where you will publish the files. Without
 * `--url`, krew's manifest refers to the archive in the same folder (`kubectl krew install
 * --manifest=pull-secret.yaml --archive=…`). `--site PATH` is the path at which a web server will
 * have the pages, `/` if you name none.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { run } from "#test/cluster/run.ts";
import { bundles } from "#tools/build/bundle.ts";
import { gzip, sha256, tar } from "./archive.ts";
import { only, stamp, type Boms } from "./boms/boms.ts";
import { buildLayout, bundlesOf, pinnedBase } from "./image.ts";
import { imageBoms } from "./boms/image-boms.ts";
import { readLayout, type Image } from "./layout.ts";
import { locked, npmBoms, production } from "./boms/npm-boms.ts";
import { crdsYaml, packChart, writeInstallYaml } from "./manifests.ts";
import { fetchNode, nodePackages } from "./node.ts";
import { krewManifest, packPlugin, type Packed } from "./plugin.ts";
import { Unready, versionOf, type Version } from "./ready.ts";

type Options = Readonly<{
  base: string | undefined;
  url: string | undefined;
  image: string;
  site: string;
}>;

/** Makes the folder once all steps have succeeded. Returns its path and the image's digest. */
async function release(repository: string, options: Options): Promise<[string, string]> {
  const version = await versionOf(repository);
  const name = `global-pull-secret-${version.version}`;
  const folder = join(repository, `dist/release-${version.version}`);
  const draft = `${folder}.draft`;
  const layout = `${folder}.image`;
  for (const path of [draft, layout]) rmSync(path, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true });

  const bundled = await bundles();
  const image = await buildImage(repository, layout, version, options.base);
  await tar(
    join(draft, `${name}.oci.tar`),
    layout,
    readdirSync(layout).toSorted(),
    version.created,
  );

  const inImage = new Set(bundlesOf(repository));
  const paths = new Set<string>();
  for (const bundle of bundled)
    if (inImage.has(bundle.path)) for (const path of bundle.packages) paths.add(path);
  const all = await npmBoms(repository);
  const base = baseName(pinnedBase(repository), options.base);
  const ofImage = await imageBoms(all, locked(repository, paths), image, base);
  write(draft, "npm", stamp(only(all, production(repository)), version.created));
  write(draft, "image", stamp(ofImage, version.created));

  const archives = await packPlugins(repository, draft, version, options.url);
  writeFileSync(join(draft, "pull-secret.yaml"), krewManifest(version.version, archives));

  const released = { image: options.image, digest: image.digest, created: version.created };
  writeInstallYaml(repository, join(draft, "install.yaml"), released);
  await packChart(repository, join(draft, `${name}.tgz`), released);
  writeFileSync(join(draft, "crds.yaml"), crdsYaml(repository));
  await packSite(repository, join(draft, `docs-${version.version}.tar.gz`), options.site, version);
  writeFileSync(join(draft, "CHANGES.md"), version.changes);
  const files = readdirSync(draft).toSorted();
  const sums = files.map((file) => `${sha256(join(draft, file))}  ${file}\n`);
  writeFileSync(join(draft, "SHA256SUMS"), sums.join(""));
  rmSync(layout, { recursive: true });
  rmSync(folder, { recursive: true, force: true });
  renameSync(draft, folder);
  return [folder, image.digest];
}

/**
 * Packs the plugin once without Node.js, and for each Linux architecture with the pinned Node.js.
 */
async function packPlugins(
  repository: string,
  draft: string,
  { version, created }: Version,
  url: string | undefined,
): Promise<readonly Packed[]> {
  const packed: Packed[] = [];
  for (const [arch, name] of [...Object.entries(nodePackages), []]) {
    const file = ["kubectl-pull_secret", version, ...(arch ? ["linux", arch] : [])].join("-");
    const archive = join(draft, `${file}.tar.gz`);
    const uri = url === undefined ? basename(archive) : new URL(basename(archive), `${url}/`).href;
    const node = `${archive}.node`;
    if (name !== undefined) await fetchNode(repository, name, node);
    await packPlugin(repository, archive, created, name && node);
    rmSync(node, { recursive: true, force: true });
    packed.push({ ...(arch && { arch }), archive, uri });
  }
  return packed;
}

/** Packs the pages for a web server that has them at the path `base`. */
async function packSite(
  repository: string,
  archive: string,
  base: string,
  { created }: Version,
): Promise<void> {
  const folder = `${archive}.site`;
  const argv = [process.execPath, "tools/site/main.ts", "--base", base, "--out", folder];
  await run(argv, { cwd: repository });
  const plain = `${archive}.tar`;
  await tar(plain, folder, readdirSync(folder).toSorted(), created);
  gzip(plain, archive);
  for (const path of [folder, plain]) rmSync(path, { recursive: true });
}

async function buildImage(
  context: string,
  layout: string,
  { version, revision, created }: Version,
  base: string | undefined,
): Promise<Image> {
  const architectures = ["amd64", "arm64"];
  const image = "org.opencontainers.image";
  const labels = {
    [`${image}.version`]: version,
    [`${image}.revision`]: revision,
    [`${image}.created`]: new Date(created * 1000).toISOString(),
  };
  await buildLayout({ context, layout, architectures, base, created, labels });
  return readLayout(layout);
}

/**
 * The name of the pinned base, or of the given layout if its digest differs from the pinned digest.
 */
function baseName(pinned: string, layout: string | undefined): string {
  const own = layout === undefined || pinned.endsWith(`@${readLayout(layout).digest}`);
  return own ? basename(pinned.replace(/(?::[^/@]*)?@.*$/, "")) : basename(layout);
}

function write(folder: string, name: string, { cyclonedx, spdx }: Boms): void {
  for (const [form, bom] of Object.entries({ cdx: cyclonedx, spdx }))
    writeFileSync(join(folder, `${name}.${form}.json`), `${JSON.stringify(bom, undefined, 2)}\n`);
}

try {
  const text = { type: "string" } as const;
  const { values } = parseArgs({ options: { base: text, url: text, image: text, site: text } });
  const { url, image = "global-pull-secret", site = "/" } = values;
  const base = values.base === undefined ? undefined : resolve(values.base);
  const [folder, digest] = await release(process.cwd(), { base, url, image, site });
  process.stdout.write(
    `${basename(folder)}: image ${digest}\n${readFileSync(join(folder, "SHA256SUMS"), "utf8")}`,
  );
} catch (error) {
  const isMisuse = (error as NodeJS.ErrnoException).code?.startsWith("ERR_PARSE_ARGS") === true;
  if (!isMisuse && !(error instanceof Unready)) throw error;
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = isMisuse ? 2 : 1;
}

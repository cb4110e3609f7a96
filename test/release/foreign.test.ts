/**
 * Runs the image's programs of the architecture that this machine does not have, such as arm64,
 * with QEMU, on Debian's libraries and npm's Node for this architecture.
 */
import assert from "node:assert/strict";
import { copyFileSync, globSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { buildLayout, bundlesOf } from "#tools/release/image.ts";
import { readLayout } from "#tools/release/layout.ts";
import { fetchNode, nodePackages } from "#tools/release/node.ts";
import { debianMirror, installPackages } from "../cluster/kit/debian.ts";
import { architecture, writeLayout } from "../cluster/kit/images.ts";
import { run } from "../cluster/run.ts";

const repository = join(import.meta.dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "foreign-"));
const target = architecture === "amd64" ? "arm64" : "amd64";
const qemu = `/usr/bin/qemu-${target === "arm64" ? "aarch64" : "x86_64"}-static`;
const libraries = ["libc6", "libstdc++6", "libgcc-s1", "libatomic1"];
/** The image's files. */
const root = join(folder, "root");

/** Writes the base image for the architecture, as an OCI layout. */
async function writeForeignBase(layout: string): Promise<void> {
  const [debian, tree] = [join(folder, "debian"), join(folder, "tree")];
  const flags = ["--download-only", `--arch=${target}`, "--variant=minbase"];
  const include = `--include=${libraries.join(",")}`;
  const mirror = await debianMirror();
  await run([
    "debootstrap",
    ...flags,
    include,
    "bookworm",
    debian,
    ...(mirror === undefined ? [] : [mirror]),
  ]);
  for (const library of libraries)
    for (const file of globSync(`${debian}/var/cache/apt/archives/${library}_*.deb`))
      await run(["dpkg-deb", "--extract", file, tree]);
  await fetchNode(repository, nodePackages[target] ?? "", join(tree, "nodejs"));
  await writeLayout(layout, tree, { Entrypoint: ["/nodejs/bin/node"] }, target);
}

before(async () => {
  await installPackages({
    "/usr/bin/buildah": "buildah",
    "/usr/sbin/debootstrap": "debootstrap",
    [qemu]: "qemu-user-static",
  });
  const base = join(folder, "base");
  const context = join(folder, "context");
  const layout = join(folder, "image");
  await writeForeignBase(base);
  for (const file of ["Containerfile", ...bundlesOf(repository)]) {
    mkdirSync(dirname(join(context, file)), { recursive: true });
    copyFileSync(join(repository, file), join(context, file));
  }
  const created = Date.UTC(2026, 0, 2) / 1000;
  await buildLayout({ context, layout, architectures: [target], base, created, labels: {} });
  const [image] = readLayout(layout).platforms;
  assert.equal(image?.config.architecture, target);
  mkdirSync(root);
  for (const layer of image.layers) await run(["tar", "-C", root, "-xzf", layer]);
});
after(() => rmSync(folder, { recursive: true }));

for (const name of ["controller", "agent", "fleet", "sync-tenant", "sync-management", "plugin"])
  test(`starts ${name} of the image for ${target}`, async () => {
    const command = (node: string, folder: string) => [node, join(folder, `${name}.cjs`), "--help"];
    const foreign = [qemu, "-L", root, ...command(join(root, "nodejs/bin/node"), `${root}/app`)];
    const own = command(process.execPath, join(repository, "dist"));
    assert.equal(await run(foreign), await run(own));
  });

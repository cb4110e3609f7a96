/**
 * The images that every cluster's registry offers, as OCI layouts in the cache. They are made from
 * the pinned Node.js and from files of the nodes' Debian, so nothing is fetched.
 */
import { createHash } from "node:crypto";
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { cacheRoot, keyOf, once } from "../cache.ts";
import { progress, run } from "../run.ts";

export type Images = Readonly<{
  /** Node.js at /nodejs/bin/node with Debian's C and C++ libraries: the distroless layout. */
  base: string;
  /** A busybox that runs until it is stopped: a private image for pods, and the pods' sandbox. */
  app: string;
}>;

/** OCI uses Go's names of architectures. */
export const architecture = process.arch === "x64" ? "amd64" : process.arch;

/**
 * Prints hello, then waits. Ends at once on SIGTERM: without a trap, a shell as PID 1 ignores this
 * signal.
 */
const appCommand = [
  "/bin/sh",
  "-c",
  "trap 'exit 0' TERM; echo hello; while :; do sleep 3600 & wait $!; done",
];

export async function makeImages(debian: string): Promise<Images> {
  const node = join(import.meta.dirname, `../../../node_modules/node-linux-${process.arch}`);
  const { version } = JSON.parse(readFileSync(join(node, "package.json"), "utf8")) as {
    version: string;
  };
  const directory = join(cacheRoot, `images-${keyOf(debian, version, appCommand.join(" "), "1")}`);
  const base = await once(join(directory, "base"), async (draft) => {
    progress("making the base image with Node");
    const tree = `${draft}-tree`;
    await copyLibraries(debian, tree);
    mkdirSync(join(tree, "nodejs/bin"), { recursive: true });
    cpSync(join(node, "bin/node"), join(tree, "nodejs/bin/node"));
    await writeLayout(draft, tree, { Env: ["PATH=/nodejs/bin"], Entrypoint: ["/nodejs/bin/node"] });
  });
  const app = await once(join(directory, "app"), async (draft) => {
    const tree = `${draft}-tree`;
    mkdirSync(join(tree, "bin"), { recursive: true });
    cpSync(join(debian, "bin/busybox"), join(tree, "bin/busybox"));
    for (const applet of ["sh", "sleep", "cat", "ls", "env", "wget", "true"]) {
      symlinkSync("busybox", join(tree, "bin", applet));
    }
    await writeLayout(draft, tree, { Env: ["PATH=/bin"], Cmd: appCommand });
  });
  return { base, app };
}

/** The dynamic libraries that Node needs, without their documentation. */
async function copyLibraries(debian: string, tree: string): Promise<void> {
  const libraries = ["libc6", "libstdc++6", "libgcc-s1", "libatomic1"];
  const files = await run([
    "dpkg-query",
    `--admindir=${debian}/var/lib/dpkg`,
    "--listfiles",
    ...libraries,
  ]);
  for (const file of files
    .split("\n")
    .filter((line) => /\/lib.*\.so(\.|$)/.test(line) && !line.includes("gconv"))) {
    const path = file.startsWith("/usr/") ? file : `/usr${file}`;
    mkdirSync(join(tree, dirname(path)), { recursive: true });
    cpSync(join(debian, path), join(tree, path), { verbatimSymlinks: true });
  }
  for (const name of ["lib", "lib64"]) symlinkSync(`usr/${name}`, join(tree, name));
  mkdirSync(join(tree, "etc"));
  writeFileSync(
    join(tree, "etc/passwd"),
    "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532::/home:/\n",
  );
  mkdirSync(join(tree, "tmp"));
  chmodSync(join(tree, "tmp"), 0o1777);
}

/** The same files give the same digest. */
const reproducible = ["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner"];

/** Packs `tree` as the one layer of an image; removes the tree. */
export async function writeLayout(
  layout: string,
  tree: string,
  config: Record<string, unknown>,
  ofArchitecture = architecture,
): Promise<void> {
  const blobs = join(layout, "blobs/sha256");
  mkdirSync(blobs, { recursive: true });
  const layer = join(layout, "layer.tar");
  await run(["tar", ...reproducible, "-C", tree, "-cf", layer, "."]);
  rmSync(tree, { recursive: true });
  const diffId = digest(readFileSync(layer));
  await run(["gzip", "-n", layer]);
  const add = (mediaType: string, bytes: Uint8Array) => {
    const name = digest(bytes);
    writeFileSync(join(blobs, name), bytes);
    return {
      mediaType: `application/vnd.oci.image.${mediaType}`,
      digest: `sha256:${name}`,
      size: bytes.length,
    };
  };
  const packed = readFileSync(`${layer}.gz`);
  rmSync(`${layer}.gz`);
  const layers = [add("layer.v1.tar+gzip", packed)];
  const rootfs = { type: "layers", diff_ids: [`sha256:${diffId}`] };
  const imageConfig = add(
    "config.v1+json",
    json({ architecture: ofArchitecture, os: "linux", config, rootfs }),
  );
  const mediaType = "application/vnd.oci.image.manifest.v1+json";
  const manifest = add(
    "manifest.v1+json",
    json({ schemaVersion: 2, mediaType, config: imageConfig, layers }),
  );
  writeFileSync(
    join(layout, "index.json"),
    JSON.stringify({ schemaVersion: 2, manifests: [manifest] }),
  );
  writeFileSync(join(layout, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
}

function json(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}

function digest(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

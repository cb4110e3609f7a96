/** Our own image: the repository's Containerfile, built for real upon the tests' base image. */
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { cacheRoot, keyOf, once } from "./cache.ts";
import type { Cluster } from "./cluster.ts";
import { publicRegistry } from "./registry.ts";
import { directEnvironment, run } from "./run.ts";

const repository = join(import.meta.dirname, "../..");
const built = join(cacheRoot, "built");

/** What the Containerfile copies. */
const bundles = ["agent", "hidden", "controller"].map((name) => `dist/${name}.cjs`);

/**
 * Builds the image of the bundles in dist/ (4 s, once for the same content) and pushes it to the
 * cluster's registry that asks for no password. Returns the reference for pods, e.g.
 * `public.example/global-pull-secret:KEY`; other bundles give another tag unless `tag` is given.
 */
export async function buildImage(cluster: Cluster, tag?: string): Promise<string> {
  const missing = bundles.filter((bundle) => !existsSync(join(repository, bundle)));
  if (missing.length > 0) throw new Error(`${missing.join(" and ")} missing: run npm run build`);
  const { base } = cluster.kit.images;
  const content = ["Containerfile", ...bundles].map((file) =>
    readFileSync(join(repository, file), "utf8"),
  );
  const key = keyOf(base, ...content);
  forgetOld();
  const layout = await once(join(built, key), (draft) => build(base, draft));
  return await cluster.registry.push(layout, `global-pull-secret:${tag ?? key}`, publicRegistry);
}

/**
 * With a storage of its own beside the result, gone afterwards: the machine's images are none of
 * our business.
 */
async function build(base: string, layout: string): Promise<void> {
  const storage = `${layout}.storage`;
  const buildah = (args: readonly string[], cwd: string): Promise<string> =>
    run(["buildah", "--root", join(storage, "root"), "--runroot", join(storage, "run"), ...args], {
      cwd,
      env: directEnvironment(),
    });
  rmSync(storage, { recursive: true, force: true });
  mkdirSync(storage, { recursive: true });
  try {
    // By a relative path: buildah names the image after it and refuses dots and capitals.
    const id = (await buildah(["pull", "--quiet", `oci:${basename(base)}`], dirname(base))).trim();
    const options = [
      "--isolation=chroot",
      "--quiet",
      `--build-arg=BASE=${id}`,
      "--tag=product",
      "--file=Containerfile",
    ];
    await buildah(["build", ...options, "."], repository);
    await buildah(["push", "--quiet", "product", `oci:${layout}`], repository);
  } finally {
    rmSync(storage, { recursive: true, force: true });
  }
}

/** Every change of the code makes 50 MB: those not made today go. */
function forgetOld(): void {
  if (!existsSync(built)) return;
  const yesterday = Date.now() - 24 * 3600_000;
  for (const name of readdirSync(built)) {
    if (statSync(join(built, name)).mtimeMs < yesterday)
      rmSync(join(built, name), { recursive: true, force: true });
  }
}

/**
 * Our own image: the repository's Containerfile, built on the tests' base image. The base image
 * that the Containerfile pins is not used, because tests fetch nothing from a public registry.
 */
import { existsSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { buildLayout, bundlesOf } from "#tools/release/image.ts";
import { cacheRoot, keyOf, once } from "../cache.ts";
import type { Cluster } from "../cluster.ts";
import { architecture } from "./images.ts";
import { publicRegistry, type registryPorts } from "../registry.ts";

const repository = join(import.meta.dirname, "../../..");
const built = join(cacheRoot, "built");

type Options = Readonly<{
  /** The image's tag. By default a key of its content. */
  tag?: string;
  /** The registry to push to. By default the registry that needs no password. */
  host?: keyof typeof registryPorts;
}>;

/**
 * Builds the image of the bundles in dist/ and pushes it to a registry of the cluster. A build
 * takes 4 s. Bundles with the same content are built only once. Returns the reference for pods,
 * e.g. `public.example/global-pull-secret:KEY`.
 */
export async function buildImage(
  cluster: Cluster,
  { tag, host = publicRegistry }: Options = {},
): Promise<string> {
  const bundles = bundlesOf(repository);
  const missing = bundles.filter((bundle) => !existsSync(join(repository, bundle)));
  if (missing.length > 0) throw new Error(`${missing.join(" and ")} missing: run npm run build`);
  const { base } = cluster.kit.images;
  const content = ["Containerfile", ...bundles].map((file) =>
    readFileSync(join(repository, file), "utf8"),
  );
  const key = keyOf(base, ...content);
  forgetOld();
  const architectures = [architecture];
  const layout = await once(join(built, key), (draft) =>
    buildLayout({
      context: repository,
      layout: draft,
      base,
      architectures,
      created: 0,
      labels: {},
    }),
  );
  return await cluster.registry.push(layout, `global-pull-secret:${tag ?? key}`, host);
}

/**
 * Deletes images that are older than a day, because every change of the code adds an image of 50
 * MB.
 */
function forgetOld(): void {
  if (!existsSync(built)) return;
  const yesterday = Date.now() - 24 * 3600_000;
  for (const name of readdirSync(built)) {
    if (statSync(join(built, name)).mtimeMs < yesterday)
      rmSync(join(built, name), { recursive: true, force: true });
  }
}

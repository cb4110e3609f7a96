/**
 * Our own image: the repository's Containerfile, built on the tests' base image. The base image
 * that the Containerfile pins is not used, because tests fetch nothing from a public registry.
 */
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
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
  /** A line of JavaScript with which the agent's program begins, for agents that fail. */
  agentLine?: string;
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
  { tag, agentLine = "", host = publicRegistry }: Options = {},
): Promise<string> {
  const bundles = bundlesOf(repository);
  const missing = bundles.filter((bundle) => !existsSync(join(repository, bundle)));
  if (missing.length > 0) throw new Error(`${missing.join(" and ")} missing: run npm run build`);
  const { base } = cluster.kit.images;
  const files = ["Containerfile", ...bundles].map((file) => {
    const text = readFileSync(join(repository, file), "utf8");
    return [file, basename(file) === "agent.cjs" ? agentLine + text : text] as const;
  });
  const key = keyOf(base, ...files.map(([, text]) => text));
  forgetOld();
  const architectures = [architecture];
  const layout = await once(join(built, key), async (draft) => {
    const context = `${draft}.context`;
    for (const [file, text] of files) {
      mkdirSync(dirname(join(context, file)), { recursive: true });
      writeFileSync(join(context, file), text);
    }
    await buildLayout({ context, layout: draft, base, architectures, created: 0, labels: {} });
    rmSync(context, { recursive: true });
  });
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

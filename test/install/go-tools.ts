/**
 * helm and kubeconform, in the versions that go.mod in this folder pins, built once into the cache.
 * The build takes 75 s on two cores if kubectl is already built, because helm shares most packages
 * with kubectl.
 */
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { cacheRoot, keyOf, once } from "../cluster/cache.ts";
import { goBuild } from "../cluster/kit/go.ts";
import { progress } from "../cluster/run.ts";

const here = import.meta.dirname;
const pins = ["go.mod", "go.sum"].map((name) => readFileSync(join(here, name), "utf8"));

/** Sets the versions that a released helm has. Without them helm assumes Kubernetes 1.20. */
function linkerFlags([goMod = ""]: readonly string[]): string {
  const [, version] = /helm\.sh\/helm\/v3 (v\S+)/.exec(goMod) ?? [];
  const [, minor] = /k8s\.io\/client-go v0\.(\d+)/.exec(goMod) ?? [];
  const chart = "helm.sh/helm/v3/pkg/chartutil";
  return [
    "-s -w",
    `-X helm.sh/helm/v3/internal/version.version=${version}`,
    `-X ${chart}.k8sVersionMajor=1`,
    `-X ${chart}.k8sVersionMinor=${minor}`,
  ].join(" ");
}

async function build(importPath: string): Promise<string> {
  const program = basename(importPath);
  const flags = linkerFlags(pins);
  const path = join(cacheRoot, "install", keyOf(...pins, "quick", flags, process.arch), program);
  return await once(path, async (draft) => {
    progress(`building ${program}`);
    await goBuild(here, draft, importPath, flags);
  });
}

export const helm = (): Promise<string> => build("helm.sh/helm/v3/cmd/helm");
export const kubeconform = (): Promise<string> =>
  build("github.com/yannh/kubeconform/cmd/kubeconform");

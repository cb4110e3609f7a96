/**
 * kind, in the version that go.mod in this folder pins, and kubeadm and kube-proxy in the version
 * of the tests' other programs. Built once into the cache: about a minute on two idle cores.
 */
import { copyFileSync, mkdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { cacheRoot, keyOf, once } from "../cluster/cache.ts";
import { buildFlags, goBuild, goIn, versionFlags } from "../cluster/kit/go.ts";
import { progress, run } from "../cluster/run.ts";

const here = import.meta.dirname;
const module = "sigs.k8s.io/kind";
const ofKubernetes = ["k8s.io/kubernetes/cmd/kubeadm", "k8s.io/kubernetes/cmd/kube-proxy"];

const pinsOf = (folder: string): string[] =>
  ["go.mod", "go.sum"].map((file) => readFileSync(join(folder, file), "utf8"));

/** The folder of kind's module, which contains the files of its node images. */
export async function kindModule(): Promise<string> {
  const listed = await run(["go", "mod", "download", "-json", module], goIn(here));
  return (JSON.parse(listed) as { Dir: string }).Dir;
}

export async function kindProgram(): Promise<string> {
  const key = keyOf(...pinsOf(here), ...buildFlags(""), process.arch);
  return await once(join(cacheRoot, "kind", key, "kind"), async (draft) => {
    progress("compiling kind, once");
    await goBuild(here, draft, module);
  });
}

/** Returns the folder that contains kubeadm and kube-proxy of this release of Kubernetes. */
export async function kubeadmPrograms(release: string): Promise<string> {
  const tests = join(here, "..");
  const flags = versionFlags(release);
  const key = keyOf(...pinsOf(tests), ...buildFlags(flags), process.arch);
  return await once(join(cacheRoot, "kind", key), async (draft) => {
    progress("compiling kubeadm and kube-proxy, once");
    // A copy, because go.sum in test/ lacks their checksums, and each change of that file rebuilds
    // all programs of a cluster. Go adds the checksums from the public checksum database.
    const copy = join(draft, "module");
    mkdirSync(copy, { recursive: true });
    for (const file of ["go.mod", "go.sum"]) copyFileSync(join(tests, file), join(copy, file));
    await run(["go", "list", "-mod=mod", "-deps", ...ofKubernetes], goIn(copy));
    for (const path of ofKubernetes) await goBuild(copy, join(draft, basename(path)), path, flags);
  });
}

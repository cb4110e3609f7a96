/**
 * A kubelet that is older than 1.34, in the version that go.mod in this folder pins. This kubelet
 * reads the providers' configuration only from a file, and accepts tokenAttributes only with a
 * feature gate.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { cacheRoot, keyOf, once } from "#test/cluster/cache.ts";
import { goBuild } from "#test/cluster/kit/go.ts";
import { progress } from "#test/cluster/run.ts";

const here = import.meta.dirname;
const modulePath = "k8s.io/kubernetes";
const pins = ["go.mod", "go.sum"].map((name) => readFileSync(join(here, name), "utf8"));
const version = pins[0]?.split(`${modulePath} `)[1]?.split(/\s/)[0] ?? "";

/**
 * Builds the kubelet once for each version of the pinned modules (four minutes). Returns the
 * program and the version that it reports.
 */
export async function olderKubelet(): Promise<{ program: string; version: string }> {
  const file = join(cacheRoot, "older", keyOf(...pins, "quick"), "kubelet");
  const program = await once(file, async (draft) => {
    progress(`building a kubelet of ${version} (four minutes)`);
    await goBuild(here, draft, `${modulePath}/cmd/kubelet`, linked());
  });
  return { program, version };
}

/** Linker flags with the version, as in a stock release. The Node object shows this version. */
function linked(): string {
  const [gitMajor, gitMinor] = version.slice(1).split(".");
  const values = Object.entries({ gitVersion: version, gitMajor, gitMinor });
  const names = values.map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`);
  return ["-s -w", ...names].join(" ");
}

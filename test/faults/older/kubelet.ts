/**
 * A kubelet from before 1.34, as the go.mod here pins it: its provider's configuration is a file,
 * and tokenAttributes are behind a gate.
 */
import { mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { cacheRoot, keyOf, once } from "#test/cluster/cache.ts";
import { progress, run } from "#test/cluster/run.ts";

const here = import.meta.dirname;
const modulePath = "k8s.io/kubernetes";
const pins = ["go.mod", "go.sum"].map((name) => readFileSync(join(here, name), "utf8"));
const version = pins[0]?.split(`${modulePath} `)[1]?.split(/\s/)[0] ?? "";

/** The program, built once per version of the pins: four minutes; and what it calls itself. */
export async function olderKubelet(): Promise<{ program: string; version: string }> {
  const file = join(cacheRoot, "older", keyOf(...pins), "kubelet");
  const program = await once(file, async (draft) => {
    progress(`building a kubelet of ${version} (four minutes)`);
    mkdirSync(dirname(draft), { recursive: true });
    const flags = ["-trimpath", "-buildvcs=false", "-ldflags", linked()];
    const env = { ...(process.env as Record<string, string>), CGO_ENABLED: "0", GOFLAGS: "" };
    const argv = ["go", "build", ...flags, "-o", draft, `${modulePath}/cmd/kubelet`];
    await run(argv, { cwd: here, env });
  });
  return { program, version };
}

/** A stock release is linked with its version, which the Node object tells. */
function linked(): string {
  const [gitMajor, gitMinor] = version.slice(1).split(".");
  const values = Object.entries({ gitVersion: version, gitMajor, gitMinor });
  const names = values.map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`);
  return ["-s -w", ...names].join(" ");
}

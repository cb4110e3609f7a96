/** Cluster API's definitions, from its Go module. */
import { join } from "node:path";
import type { Cluster } from "../cluster/cluster.ts";
import { run } from "../cluster/run.ts";

const here = join(import.meta.dirname, "go");
const modulePath = "sigs.k8s.io/cluster-api";

/** Defines what a fleet meets of it, in both versions, without the webhook that converts them. */
export async function installDefinitions(
  cluster: Cluster,
  ...names: readonly string[]
): Promise<void> {
  const list = ["go", "list", "-m", "-f", "{{.Dir}}", modulePath];
  const folder = (await run(list, { cwd: here })).trim();
  for (const name of names) {
    const file = join(folder, "config/crd/bases", `${name}.yaml`);
    await cluster.kubectl("apply", "--server-side", "-f", file);
    const [group, plural] = name.split("_");
    const crd = `crd/${plural}.${group}`;
    await cluster.kubectl("wait", "--for=condition=Established", crd, "--timeout=60s");
  }
}

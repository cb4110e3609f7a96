/** Every command that README and docs show of the plugin and of our object, run as it is shown. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, globSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { test } from "node:test";
import { file, folder, options } from "#cli/cases.fixture.ts";
import { east, west } from "#cli/seal/seal.fixture.ts";
import { document, startController, wipe } from "../controller/plane.ts";
import { steer, untilCondition } from "../controller/steer.ts";
import { password, program, type PluginRig } from "./rig.ts";

type Shown = Readonly<{ page: string; line: string }>;

/** Lines of fenced blocks, in their order, without what follows `#`; a last `\` goes on. */
function shownIn(page: string, text: string): Shown[] {
  const blocks = [...text.matchAll(/^```[^\n]*\n(.*?)^```/gms)];
  return (
    blocks
      .flatMap(([, block = ""]) => block.replaceAll(/\\\n\s*/g, "").split("\n"))
      .map((line) => line.replace(/(?:^|\s)#.*$/, "").trim())
      .filter((line) =>
        /\bkubectl pull-secret\b|\bkubectl\b.*\b(?:gps|globalpullsecrets?)\b/.test(line),
      )
      // The pages that follow two clusters are run whole: test/e2e/two-clusters, test/sync.
      .filter((line) => !/--context (?:management|guest|tenant)\b/.test(line))
      .map((line) => ({ page, line }))
  );
}

const pages = ["README.md", "SECURITY.md", "CONTRIBUTING.md", ...globSync("docs/*.md")].toSorted();

/** What goes on until it is interrupted. */
const endless: ReadonlySet<string> = new Set(["kubectl pull-secret status --watch"]);

/** Line → why it is not run here as it stands. */
const notRun: Readonly<Record<string, string>> = {
  "kubectl pull-secret check --login -f additional.json":
    "its registries are out of reach; run against a real one in login.ts",
  ...Object.fromEntries(
    [
      "clusters join east --context admin@east",
      "clusters join west --context west",
      "clusters join here --context host",
      "clusters list",
      "clusters apply -f manifests --clusters east,west",
      "clusters apply -f manifests --check",
      "clusters remove east",
    ].map((line) => [
      `kubectl pull-secret ${line}`,
      "needs several clusters; its like is run in test/clusters",
    ]),
  ),
  ...Object.fromEntries(
    ["clusters apply -f sealed/west.yaml --clusters west", "wait --context east"].map((line) => [
      `kubectl pull-secret ${line}`,
      "needs both clusters of docs/sealed.md, which test/e2e/two-clusters follows",
    ]),
  ),
  "kubectl pull-secret uninstall": "asks a person; run with --yes in uninstall.ts, last of all",
};

export function shownTests({ on, plugin }: PluginRig): void {
  const shown = pages.flatMap((page) => shownIn(page, readFileSync(page, "utf8")));

  test("what is not run is still shown", () => {
    const lines = new Set(shown.map(({ line }) => line));
    for (const line of [...endless, ...Object.keys(notRun)]) assert.ok(lines.has(line), line);
  });

  test("every command that the pages show does what it says, with a real controller", async () => {
    assert.ok(shown.length > 10, "hardly any command is found");
    const { cluster, kubeconfig } = on();
    const bin = join(folder, "shown-bin");
    mkdirSync(bin);
    symlinkSync(cluster.kit.parts.path("kubectl"), join(bin, "kubectl"));
    const executable = join(bin, "kubectl-pull_secret");
    writeFileSync(executable, `#!/bin/sh\nexec ${process.execPath} ${program} "$@"\n`);
    chmodSync(executable, 0o755);
    const auths = document({ "quay.io": `robot:${password}` });
    for (const name of ["additional.json", "original.json", "merged.json"]) file(name, auths);
    file("token", password);
    file("east.pem", east);
    file("west.pem", west);
    file("shared.pem", east);
    const path = [bin, dirname(process.execPath), process.env["PATH"]].join(delimiter);
    const env = { ...options.env, PATH: path, KUBECONFIG: cluster.kubeconfig };

    // What a management cluster has besides.
    await cluster.kubectl("apply", "-k", "manifests/crds/fleetsecrets");
    // The team that the pages speak of.
    await cluster.kubectl("create", "namespace", "team-a");
    await cluster.kubectl("create", "serviceaccount", "builder", "-n", "team-a");
    const added = await plugin("add a.io -u robot --password-stdin", password);
    assert.equal(added.code, 0, added.err);
    await steer(on(), {});
    await using controller = startController(kubeconfig);
    await untilCondition(on(), "Ready", "True", "NoNodes");
    for (const { page, line } of shown) {
      if (Object.hasOwn(notRun, line)) continue;
      const child = spawn("bash", ["-c", line], { ...options, env });
      let told = "";
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding("utf8").on("data", (chunk: string) => (told += chunk));
      if (endless.has(line)) {
        await once(child.stdout, "data");
        child.kill("SIGKILL");
        continue;
      }
      const [code] = (await once(child, "close")) as [number];
      assert.equal(code, 0, `${page}: ${line}\n${told}`);
      assert.ok(!told.includes(password), line);
    }
    await controller.stop();
    // What the pages leave withdrawn; then nobody declares it any more.
    await steer(on(), { managementState: "Managed" });
    await steer(on(), {});
    await wipe(on());
  });
}

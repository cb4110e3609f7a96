/** Runs the commands that shown-lines.ts selects exactly as README.md and docs show them. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { test } from "node:test";
import { file, folder, options } from "#plugin/cases.fixture.ts";
import { east, west } from "#plugin/seal/seal.fixture.ts";
import { declare, document, startController, wipe } from "../controller/plane.ts";
import { steer, untilCondition } from "../controller/steer.ts";
import { password, program, type PluginRig } from "./rig.ts";
import { example, notRun, shownLines } from "./shown-lines.ts";

const extra = "team-a-pull-secret";

export function shownTests({ on }: PluginRig): void {
  const shown = shownLines();

  test("every command that the pages show succeeds with a real controller", async () => {
    assert.ok(shown.length > 10, "hardly any command is found");
    const { cluster, kubeconfig } = on();
    const bin = join(folder, "shown-bin");
    mkdirSync(bin);
    symlinkSync(cluster.kit.parts.path("kubectl"), join(bin, "kubectl"));
    const executable = join(bin, "kubectl-pull_secret");
    writeFileSync(executable, `#!/bin/sh\nexec ${process.execPath} ${program} "$@"\n`);
    chmodSync(executable, 0o755);
    const robot = `robot:${password}`;
    // Has the registries that the pages add, so that apply does not ask before it removes one.
    const auths = document({ "quay.io": robot, "https://index.docker.io/v1/": robot });
    for (const name of ["pull-secret", "additional", "original", "merged"])
      file(`${name}.json`, auths);
    file("token", password);
    file("globalpullsecret.yaml", example());
    file("east.pem", east);
    file("west.pem", west);
    file("shared.pem", east);
    const path = [bin, dirname(process.execPath), process.env["PATH"]].join(delimiter);
    const env = { ...options.env, PATH: path, KUBECONFIG: cluster.kubeconfig };

    // Some commands need the CRD FleetSecret, which management clusters have.
    await cluster.kubectl("apply", "-k", "manifests/crds/fleetsecrets");
    // The namespace of the team in the pages' examples.
    await cluster.kubectl("create", "namespace", "team-a");
    await cluster.kubectl("create", "serviceaccount", "builder", "-n", "team-a");
    // Creates the team's pod, which stays pending.
    const account = `--overrides=${JSON.stringify({ spec: { serviceAccountName: "builder" } })}`;
    await cluster.kubectl("run", "web-0", "-n", "team-a", "--image=quay.io/acme/app:1", account);
    // Creates the source Secret that the example of docs/use/install.md names, and the right to
    // read it.
    await declare(on(), auths, extra);
    const here = [extra, "-n", "kube-system"];
    const right = ["--verb=get,list,watch", "--resource=secrets", `--resource-name=${extra}`];
    await cluster.kubectl("create", "role", ...here, ...right);
    const reader = "--serviceaccount=kube-system:global-pull-secret-controller";
    await cluster.kubectl("create", "rolebinding", ...here, `--role=${extra}`, reader);
    await steer(on(), {});
    await using controller = startController(kubeconfig);
    await untilCondition(on(), "Ready", "True", "NoSource");
    for (const { page, line } of shown) {
      if (Object.hasOwn(notRun, line)) continue;
      const child = spawn("bash", ["-c", line], { ...options, env });
      let reported = "";
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding("utf8").on("data", (chunk: string) => (reported += chunk));
      const [code] = (await once(child, "close")) as [number];
      assert.equal(code, 0, `${page}: ${line}\n${reported}`);
      assert.ok(!reported.includes(password), line);
    }
    await controller.stop();
    // The pages' last commands have withdrawn the pull secret, therefore no controller is needed
    // here, and have deleted a CRD.
    await cluster.kubectl("apply", "-k", "manifests/crds");
    await cluster.kubectl("delete", "gps", "cluster");
    await cluster.kubectl("delete", "pod", "web-0", "-n", "team-a");
    await cluster.kubectl("delete", "secret,role,rolebinding", ...here);
    await steer(on(), {});
    await wipe(on());
  });
}

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { temporary } from "#test/temporary.ts";
import { kubeconfig } from "#kube/kubeconfig/kubeconfig.fixture.ts";

/** No server listens there. */
const nowhere = "https://127.0.0.1:59999";

/** Starts a program, ends it after its first warning, and returns the error in that warning. */
async function firstWarning(program: string, argv: readonly string[]): Promise<string> {
  const file = join(import.meta.dirname, "../..", program);
  const child = spawn(process.execPath, [file, ...argv, "--listen", ":0"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  let reported: string | undefined;
  for await (const line of createInterface({ input: child.stdout })) {
    const { level, error } = JSON.parse(line) as { level: number; error?: string };
    if (level < 40) continue;
    reported ??= error ?? "";
    child.kill("SIGTERM");
  }
  assert.deepEqual(await exited, [0, null], program);
  return reported ?? "";
}

test("B18: fleet and sync report at once that no API server answers, and wait for it", async (t) => {
  const folder = temporary(t);
  const file = join(folder, "kubeconfig");
  writeFileSync(file, JSON.stringify(kubeconfig({ server: nowhere })));
  const home = ["--kubeconfig", file];
  const programs = {
    "fleet/main.ts": home,
    "tenants/management.ts": home,
    "tenants/tenant.ts": [
      ...home,
      "--management-kubeconfig",
      file,
      "--management-namespace",
      "tenant-a",
    ],
  };
  const warnings = await Promise.all(
    Object.entries(programs).map(([program, argv]) => firstWarning(program, argv)),
  );
  for (const warning of warnings) assert.match(warning, /Unreachable: .*ECONNREFUSED/);
});

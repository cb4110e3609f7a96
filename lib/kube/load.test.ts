import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, test } from "node:test";
import { loadKubeConfig, NoKubeConfig } from "./load.ts";

const folder = mkdtempSync(join(tmpdir(), "kubeconfigs-"));
after(() => rmSync(folder, { recursive: true }));

/** A kubeconfig with one cluster, one user and one context, all with this name. */
function written(file: string, name: string, server: string, current: boolean): string {
  const path = join(folder, file);
  const clusters = [{ name, cluster: { server } }];
  const users = [{ name, user: { token: server } }];
  const contexts = [{ name, context: { cluster: name, user: name } }];
  const now = current ? { "current-context": name } : {};
  writeFileSync(path, JSON.stringify({ apiVersion: "v1", clusters, users, contexts, ...now }));
  return path;
}

/** The result of these files in KUBECONFIG. */
function loaded(...files: readonly string[]) {
  return withEnvironment({ KUBECONFIG: files.join(delimiter) }, () => loadKubeConfig(undefined));
}

function withEnvironment<T>(values: Readonly<Record<string, string>>, use: () => T): T {
  const before = Object.keys(values).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, values);
  try {
    return use();
  } finally {
    for (const [name, value] of before)
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
  }
}

test("takes the first value that the files in KUBECONFIG set, as kubectl does", () => {
  const staging = written("staging", "staging", "https://staging", true);
  const production = written("production", "production", "https://production", true);
  const idle = written("idle", "idle", "https://idle", false);
  const again = written("again", "staging", "https://other", true);
  const empty = join(folder, "empty");
  writeFileSync(empty, "");
  const missing = join(folder, "missing");
  const rows: readonly (readonly [server: string | undefined, ...files: string[]])[] = [
    ["https://staging", staging],
    ["https://staging", staging, production],
    ["https://production", production, staging],
    ["https://production", idle, production],
    ["https://staging", staging, again],
    ["https://other", again, staging],
    ["https://staging", missing, staging],
    ["https://staging", staging, missing],
    ["https://staging", empty, staging, production],
    ["https://staging", "", staging],
    [undefined, missing, empty],
  ];
  for (const [server, ...files] of rows)
    assert.equal(loaded(...files).getCurrentCluster()?.server, server, files.join());
  const names = loaded(staging, production, idle)
    .getContexts()
    .map(({ name }) => name);
  assert.deepEqual(names.toSorted(), ["idle", "production", "staging"]);
  assert.equal(loaded(staging, again).getCurrentUser()?.token, "https://staging");
});

test("reports that there is no kubeconfig, and does not connect to localhost", () => {
  const home = join(folder, "home");
  const environment = { HOME: home, KUBECONFIG: "" };
  withEnvironment(environment, () => {
    assert.throws(() => loadKubeConfig(undefined), NoKubeConfig);
    assert.throws(() => loadKubeConfig(undefined, "east"), NoKubeConfig);
    mkdirSync(join(home, ".kube"), { recursive: true });
    written("home/.kube/config", "home", "https://home", true);
    assert.equal(loadKubeConfig(undefined).getCurrentCluster()?.server, "https://home");
  });
});

/** Unpacks Prometheus and promtool of Debian or Ubuntu into the cache, and starts Prometheus. */
import { mkdirSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cacheRoot, keyOf, once } from "../cluster/cache.ts";
import { startProgram } from "../cluster/program.ts";
import { progress, run } from "../cluster/run.ts";
import { freePort } from "../free-port.ts";

/** Path of a program of the package prometheus. apt checks the package's signature. */
export async function program(name: "prometheus" | "promtool"): Promise<string> {
  const folder = await once(
    join(cacheRoot, "prometheus", keyOf(process.arch)),
    async (draft: string) => {
      progress("downloading the package prometheus");
      mkdirSync(draft);
      const download = () => run(["apt-get", "download", "prometheus"], { cwd: draft });
      // The download fails if apt's package lists are absent or old.
      await download().catch(async () => {
        await run(["apt-get", "update", "-qq"]);
        await download();
      });
      const [file = ""] = readdirSync(draft);
      await run(["dpkg", "-x", join(draft, file), draft]);
    },
  );
  return join(folder, "usr/bin", name);
}

type Answer<T> = Readonly<{ status: string; data: T }>;

/** Starts a Prometheus with these rule groups, which scrapes the target every second. */
export async function startPrometheus(target: string, rules: object) {
  const folder = mkdtempSync(join(tmpdir(), "prometheus-"));
  const file = (name: string, content: object): string => {
    writeFileSync(join(folder, name), JSON.stringify(content)); // JSON is YAML
    return join(folder, name);
  };
  // The label that a PodMonitor adds to every series.
  const labels = { namespace: "kube-system" };
  const config = {
    global: { scrape_interval: "1s", scrape_timeout: "1s", evaluation_interval: "1s" },
    rule_files: [file("rules.yaml", rules)],
    scrape_configs: [{ job_name: "controller", static_configs: [{ targets: [target], labels }] }],
  };
  const address = `127.0.0.1:${await freePort()}`;
  const started = startProgram([
    await program("prometheus"),
    `--config.file=${file("prometheus.yaml", config)}`,
    `--storage.tsdb.path=${join(folder, "data")}`,
    `--web.listen-address=${address}`,
  ]);
  const ask = async <T>(path: string): Promise<T> => {
    const answer = await fetch(`http://${address}/api/v1/${path}`);
    const { status, data } = (await answer.json()) as Answer<T>;
    if (status !== "success") throw new Error(`${path}: ${JSON.stringify(data)}`);
    return data;
  };
  return {
    folder,
    async firing(): Promise<ReadonlySet<string>> {
      type Alerts = { alerts: { state: string; labels: { alertname: string } }[] };
      const { alerts } = await ask<Alerts>("alerts");
      const those = alerts.filter(({ state }) => state === "firing");
      return new Set(those.map(({ labels }) => labels.alertname));
    },
    /** The number of series that a query returns. */
    async series(query: string): Promise<number> {
      const path = `query?query=${encodeURIComponent(query)}`;
      return (await ask<{ result: object[] }>(path)).result.length;
    },
    stop: () => started.stop(),
    output: () => started.output(),
  };
}

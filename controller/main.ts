/** Global Pull Secret's controller: reads the command line, builds the adapters, runs the loop until SIGTERM. */
import { KubeConfig, type V1Pod } from "@kubernetes/client-node";
import { pino } from "pino";
import { additionalSecretName, globalSecretName, namespace, syncerName } from "../pullsecret/names.ts";
import { ApiError } from "./apierror.ts";
import { parseConfig, usage, type Config } from "./config.ts";
import { keepMemoryOutOfCores } from "./cores.ts";
import { announcer } from "./events.ts";
import { connect, type Cluster } from "./kube.ts";
import { createLoop } from "./loop.ts";
import { createMetrics } from "./metrics.ts";
import { Mirror } from "./mirror.ts";
import { mirrored } from "./mirrored.ts";
import { collections, secretsIn } from "./paths.ts";
import { nudgeClock } from "./nudge.ts";
import { quietClock } from "./quiet.ts";
import { reconcile, type Reconciler } from "./reconcile.ts";
import { createReport } from "./report.ts";
import { serve } from "./server.ts";
import { follow, type Target } from "./watch.ts";

/** Without a finished reconcile for this long, errors included, the loop hangs and the process is better restarted. */
const hangsSeconds = 600;

/** Only these names, and the original's, are ever read or watched. */
const targets: readonly Target[] = [
  { collection: collections.secrets, name: additionalSecretName },
  { collection: collections.secrets, name: globalSecretName },
  { collection: collections.serviceAccounts, name: syncerName },
  { collection: collections.roles, name: syncerName },
  { collection: collections.roleBindings, name: syncerName },
  { collection: collections.daemonSets, name: syncerName },
];

const now = () => new Date();

async function main(argv: readonly string[]): Promise<void> {
  if (argv.includes("--help")) return void process.stdout.write(usage());
  const parsed = parseConfig(argv);
  if (!parsed.ok) {
    process.stderr.write(`${parsed.errors.join("\n")}\n`);
    process.exit(2);
  }
  const { config } = parsed;
  keepMemoryOutOfCores();
  // Synchronous: the last lines before an exit are the ones that matter.
  const log = pino({ level: config.logLevel, base: null }, pino.destination({ dest: 1, sync: true }));
  const stop = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => stop.abort());

  const metrics = createMetrics();
  const asked = (method: string, status: number) => metrics.requests.inc({ method, status: String(status) });
  const live = connect(kubeConfig(config.kubeconfig), asked);
  const here = targets.map((target) => ({ live, target, mirror: new Mirror() }));
  const cluster = mirrored(live, here);
  const original = originalOf(config, live, asked);
  const reconciler: Reconciler = {
    cluster,
    live,
    original,
    policy: { conflicts: config.conflicts, protect: config.protect },
    agent: { ...config.agent, minReadySeconds: config.minReadySeconds, image: await imageOf(config, live) },
    maxUnavailable: config.maxUnavailable,
    quietSeconds: quietClock(now),
    nudgeSeconds: nudgeClock(now),
    now,
    report: createReport({
      cluster,
      announce: announcer(cluster, ({ type, reason, message }) => {
        metrics.events.inc({ reason });
        log[type === "Warning" ? "warn" : "info"]({ event: reason }, message);
      }),
      metrics,
      now,
      drainDeadlineSeconds: config.drainDeadlineSeconds,
      log: (fields, message) => log.info(fields, message),
    }),
  };

  let last = Date.now();
  let succeeded = false;
  const loop = createLoop({
    async run() {
      const end = metrics.seconds.startTimer();
      const again = await reconcile(reconciler);
      end();
      metrics.reconciles.inc({ result: "ok" });
      succeeded = true;
      last = Date.now();
      return again;
    },
    failed(error, failures) {
      last = Date.now();
      metrics.reconciles.inc({ result: "error" });
      // A conflict means that someone wrote between our look and our write: looking again is the normal answer.
      const level = error instanceof ApiError && error.status === 409 ? "debug" : "error";
      log[level]({ failures, error: (error as Error).message }, "reconcile failed; it is tried again");
      return error instanceof ApiError ? error.retryAfterSeconds : undefined;
    },
  });
  const sick = () => (Date.now() - last > hangsSeconds * 1000 ? `no reconcile for ${hangsSeconds} s` : undefined);
  const server = await serve(config.listen, { sick, ready: () => succeeded }, metrics.registry);
  log.info({ cluster: cluster.identity, image: reconciler.agent.image }, "started");

  const watches = [...here, ...(original === undefined ? [] : [original.followed])].map(({ live, target, mirror }) =>
    follow({
      cluster: live,
      target,
      mirror,
      hint: loop.hint,
      failed: (error) => log.warn({ error: error.message, name: target.name }, "watch failed; it starts again"),
      signal: stop.signal,
    }),
  );
  await Promise.all([loop.until(stop.signal), ...watches]);
  server.close();
  log.info("stopped");
  process.exit(0);
}

function kubeConfig(file: string | undefined): KubeConfig {
  const config = new KubeConfig();
  if (file !== undefined) config.loadFromFile(file);
  else config.loadFromDefault();
  return config;
}

function originalOf(
  { original, originalKubeconfig }: Config,
  here: Cluster,
  asked: (method: string, status: number) => void,
) {
  if (original === undefined) return undefined;
  const live = originalKubeconfig === undefined ? here : connect(kubeConfig(originalKubeconfig), asked);
  const target = { collection: secretsIn(original.namespace), name: original.name };
  const followed = { live, target, mirror: new Mirror() };
  return {
    cluster: mirrored(live, [followed]),
    path: `${target.collection}/${target.name}`,
    name: `${original.namespace}/${original.name}`,
    followed,
  };
}

/** The agents run our own image: one image, two entry points, and an upgrade of the Deployment upgrades them too. */
async function imageOf({ agent }: Config, cluster: Cluster): Promise<string> {
  if (agent.image !== undefined) return agent.image;
  const name = process.env["POD_NAME"];
  if (name === undefined) throw new Error("--agent-image: give it, or set POD_NAME to the controller's own pod");
  const pod = await cluster.get<V1Pod>(`${collections.pods}/${name}`);
  const image = pod?.spec?.containers.find((container) => container.name === "controller")?.image;
  if (image === undefined)
    throw new Error(`pod ${namespace}/${name} has no container "controller": give --agent-image`);
  return image;
}

main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exit(1);
});

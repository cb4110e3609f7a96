/** Global Pull Secret's controller: reads the command line, builds the adapters, runs the loop until SIGTERM. */
import { KubeConfig, type V1Pod } from "@kubernetes/client-node";
import { pino } from "pino";
import { once } from "node:events";
import { additionalSecretName, globalSecretName, namespace, stateSecretName, syncerName } from "../contract/names.ts";
import { ApiError } from "./apierror.ts";
import { parseConfig, usage, type Config } from "./config.ts";
import { keepMemoryOutOfCores } from "./cores.ts";
import { patiently, stand } from "./election.ts";
import { announcer } from "./events.ts";
import { fenced } from "./fenced.ts";
import { connect, type Cluster } from "./kube.ts";
import { createLookout } from "./lookout.ts";
import { createLoop } from "./loop.ts";
import { createMetrics, labels } from "./metrics.ts";
import { Mirror } from "./mirror.ts";
import { mirrored } from "./mirrored.ts";
import { originalReader, reopened } from "./original.ts";
import { collections, secretsIn } from "./paths.ts";
import { nudgeClock } from "./nudge.ts";
import { platformClock } from "./platform.ts";
import { reconcile, type Reconciler } from "./reconcile.ts";
import { createReport } from "./report.ts";
import { serve } from "./server.ts";
import { Settled } from "./settled.ts";
import { stillClock } from "./still.ts";
import { follow, type Target } from "./watch.ts";

/** Without a finished reconcile for this long, errors included, the loop hangs and the process is better restarted. */
const hangsSeconds = 600;

/** Only these names, and the original's, are ever read or watched. */
const targets: readonly Target[] = [
  { collection: collections.secrets, name: additionalSecretName },
  { collection: collections.secrets, name: stateSecretName },
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
  const stopped = once(stop.signal, "abort");

  const metrics = createMetrics();
  const asked = (method: string, status: number) => metrics.requests.inc({ method, status: String(status) });
  const direct = connect(kubeConfig(config.kubeconfig), asked);
  const leadership = stand(direct, metrics, log, () => process.exit(1));
  const { leader } = leadership;
  const live = fenced(direct, leader.holds);
  const here = targets.map((target) => ({ live, target, mirror: new Mirror() }));
  const cluster = mirrored(live, here);
  const original = originalOf(config, live, asked, (problem) => {
    if (problem === undefined) log.info("the original can be read again");
    else log.warn({ problem }, "the original cannot be read; its last accepted document stays in force");
  });
  const events = announcer({
    cluster: live,
    said: ({ type, reason, message }) => log[type === "Warning" ? "warn" : "info"]({ event: reason }, message),
    sent: ({ reason }) => metrics.events.inc({ reason }),
    dropped({ reason }, why) {
      metrics.eventsDropped.inc();
      log.warn({ event: reason, error: why }, "an Event was given up");
    },
    now,
  });
  const settled = new Settled({
    now,
    changed: (path, fields) =>
      log.warn(
        { object: path.split("/").slice(-2).join("/"), fields },
        "admission changes what we declare; it is left so",
      ),
  });
  const reconcilerWith = (image: string): Reconciler => ({
    cluster,
    live,
    original,
    removalGraceSeconds: config.removalGraceSeconds,
    policy: { conflicts: config.conflicts, protect: config.protect },
    agent: { ...config.agent, minReadySeconds: config.minReadySeconds, image },
    maxUnavailable: config.maxUnavailable,
    settled,
    maxFailures: config.maxFailures,
    minIntervalSeconds: config.minIntervalSeconds,
    lookout: createLookout(now),
    nudgeSeconds: nudgeClock(now),
    now,
    drainDeadlineSeconds: config.drainDeadlineSeconds,
    forgetAfterSeconds: config.forgetAfterSeconds,
    stillSeconds: stillClock(now),
    platform: platformClock(live, now),
    report: createReport({
      cluster,
      announce: events.announce,
      metrics,
      settled,
      now,
      log: (fields, message) => log.info(fields, message),
    }),
  });

  let last = Date.now();
  let succeeded = false;
  let reconciler: Reconciler | undefined;
  const loop = createLoop({
    async run() {
      if (reconciler === undefined) return undefined;
      const end = metrics.seconds.startTimer(labels);
      const again = await reconcile(reconciler).finally(end);
      metrics.reconciles.inc({ ...labels, result: "ok" });
      metrics.lastSuccess.setToCurrentTime();
      succeeded = true;
      last = Date.now();
      return again;
    },
    failed(error, failures) {
      last = Date.now();
      metrics.reconciles.inc({ ...labels, result: "error" });
      // A conflict means that someone wrote between our look and our write: looking again is the normal answer.
      const level = error instanceof ApiError && error.status === 409 ? "debug" : "error";
      log[level]({ failures, error: (error as Error).message }, "reconcile failed; it is tried again");
      return error instanceof ApiError ? error.retryAfterSeconds : undefined;
    },
  });
  const sick = () =>
    reconciler !== undefined && Date.now() - last > hangsSeconds * 1000
      ? `no reconcile for ${hangsSeconds} s`
      : undefined;
  const ready = () =>
    succeeded
      ? { ready: true, says: "ok" }
      : { ready: leadership.standby() !== "", says: leadership.standby() || "no reconcile has succeeded yet" };
  const server = await serve(config.listen, { sick, ready }, metrics.registry);
  const image = await Promise.race([patiently(() => imageOf(config, direct)), stopped.then(() => undefined)]);
  if (image === undefined) process.exit(0);
  log.info({ cluster: cluster.identity, image }, "started");

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
  const over = new AbortController();
  const campaign = leader.until(over.signal);
  await Promise.race([leader.elected, stopped]);
  if (!stop.signal.aborted) {
    last = Date.now();
    reconciler = reconcilerWith(image);
    await loop.until(stop.signal);
  }
  // Until the last write is over the Lease is renewed; then it is given back, and the next one need not wait.
  over.abort();
  await Promise.all([campaign, ...watches]);
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
  changed: (problem: string | undefined) => void,
) {
  if (original === undefined) return undefined;
  const file = originalKubeconfig;
  const live = file === undefined ? here : reopened(file, () => connect(kubeConfig(file), asked));
  const target = { collection: secretsIn(original.namespace), name: original.name };
  const followed = { live, target, mirror: new Mirror() };
  const path = `${target.collection}/${target.name}`;
  const cluster = mirrored(live, [followed]);
  return {
    read: originalReader({ cluster, path, mirror: followed.mirror, now, changed }),
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

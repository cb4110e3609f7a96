/** Tests what serves one cluster. A small HTTP server simulates the API server. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { text } from "node:stream/consumers";
import { temporary } from "#test/temporary.ts";
import { pino, type Logger } from "pino";
import { issue } from "#test/harness/api/certificate.ts";
import { until } from "../test/cluster/await.ts";
import type { Meters } from "#runtime/metrics.ts";
import { serveProgram } from "#runtime/run.ts";
import { openController } from "./cluster.ts";
import { parseConfig } from "./policy/config.ts";

/** Simulates an API server that can break. Its cluster is empty, and its Lease is free. */
class EmptyCluster {
  /** Milliseconds by which the server's clock is ahead of ours. */
  ahead = 0;
  additional: object | undefined;
  /** The status that answers each write, except of the Lease and of Events. */
  status = 404;
  readonly events: string[] = [];
  /** The status that answers the first read of the controller's own pod. 0: no answer. */
  failure: number | undefined;
  /** How many requests about the Lease came. */
  elections = 0;
  readonly server = createServer((request, response) => void this.#answer(request, response));

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const respond = (status: number, answer: object) =>
      void response
        .writeHead(status, { "content-type": "application/json" })
        .end(JSON.stringify(answer));
    const { pathname, searchParams } = new URL(request.url ?? "", "http://a");
    response.setHeader("date", new Date(Date.now() + this.ahead).toUTCString());
    if (pathname.endsWith("/pods/gps-1")) {
      const { failure } = this;
      this.failure = undefined;
      if (failure === 0) return void response.destroy();
      const containers = [{ name: "controller", image: "a.example/gps:1" }];
      // After this header, the client leaves the next try to its caller.
      if (failure !== undefined) response.setHeader("retry-after", "3600");
      return respond(failure ?? 200, { spec: { containers } });
    }
    if (pathname.includes("/leases")) this.elections += 1;
    if (pathname.includes("/leases") && request.method !== "GET") {
      const lease = JSON.parse(body) as { metadata: object };
      return respond(201, { ...lease, metadata: { ...lease.metadata, resourceVersion: "1" } });
    }
    // A watch stays open and never reports a change.
    if (searchParams.has("watch")) return response.writeHead(200).flushHeaders();
    if (request.method === "POST" && pathname.endsWith("/events")) {
      const event = JSON.parse(body) as { firstTimestamp: string };
      this.events.push(event.firstTimestamp);
      return respond(201, event);
    }
    const selected = searchParams.get("fieldSelector");
    if (selected !== null) {
      const isAsked = selected === "metadata.name=additional-pull-secret";
      const items = isAsked && this.additional !== undefined ? [this.additional] : [];
      return respond(200, { kind: "List", items, metadata: { resourceVersion: "1" } });
    }
    const status = request.method === "GET" ? 404 : this.status;
    return respond(status, { kind: "Status", reason: "NotFound" });
  }
}

function writeKubeconfig(folder: string, name: string, cluster: object): string {
  const kubeconfig = join(folder, name);
  const config = {
    clusters: [{ name, cluster }],
    users: [{ name, user: {} }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    "current-context": name,
  };
  writeFileSync(kubeconfig, JSON.stringify(config));
  return kubeconfig;
}

const program = { manager: "test", lease: "lease", open: openController };

test("B18: reports at once why an API server cannot be used, in the log", async (t) => {
  const folder = temporary(t);
  const server = issue("server");
  const api = createSecureServer({ key: server.key, cert: server.certificate }, (_, response) => {
    response.end("{}");
  }).listen(0, "127.0.0.1");
  await once(api, "listening");
  t.after(() => api.close());
  const name = process.env["POD_NAME"];
  t.after(() => (name === undefined ? delete process.env["POD_NAME"] : undefined));
  const address = `https://127.0.0.1:${(api.address() as AddressInfo).port}`;
  // The controller reads its own pod first. If it has no pod, it reads the Lease first.
  for (const pod of ["gps-1", undefined]) {
    if (pod === undefined) delete process.env["POD_NAME"];
    else process.env["POD_NAME"] = pod;
    const authority = Buffer.from(issue("another").certificate).toString("base64");
    const cluster = { server: address, "certificate-authority-data": authority };
    const kubeconfig = writeKubeconfig(folder, "unverified", cluster);
    const image = pod === undefined ? ["--agent-image=a.example/gps:1"] : [];
    const parsed = parseConfig(["--kubeconfig", kubeconfig, "--listen=:0", ...image]);
    assert.ok(parsed.ok);
    const stop = new AbortController();
    const lines: { level: number; error?: string; msg: string }[] = [];
    const { promise: reported, resolve } = Promise.withResolvers<void>();
    const destination = {
      write(line: string) {
        lines.push(JSON.parse(line) as (typeof lines)[number]);
        if (lines.some(({ level }) => level >= 40)) resolve();
      },
    };
    const served = serveProgram(program, parsed.value, {
      log: pino({}, destination),
      stop,
      lost: () => assert.fail("it never had the Lease"),
    });
    await reported;
    stop.abort();
    await served;
    const first = lines.find(({ level }) => level >= 40);
    assert.match(first?.error ?? "", /self-signed certificate/);
    assert.match(first?.msg ?? "", /trying again$|it will be (?:restarted|retried)$/);
  }
});

test("a replica that may not read its own pod ends before it takes part in the election", async (t) => {
  const asked: string[] = [];
  const api = createServer(({ url = "" }, response) => {
    asked.push(url);
    response.writeHead(403, { "content-type": "application/json" });
    response.end(JSON.stringify({ kind: "Status", apiVersion: "v1", reason: "Forbidden" }));
  }).listen(0, "127.0.0.1");
  await once(api, "listening");
  t.after(() => api.close());
  const server = `http://127.0.0.1:${(api.address() as AddressInfo).port}`;
  const kubeconfig = writeKubeconfig(temporary(t), "forbidden", {
    server,
    "insecure-skip-tls-verify": true,
  });
  const parsed = parseConfig(["--kubeconfig", kubeconfig, "--listen=:0"]);
  assert.ok(parsed.ok);
  process.env["POD_NAME"] = "gps-1";
  const stop = new AbortController();
  t.after(() => {
    delete process.env["POD_NAME"];
    stop.abort();
  });
  const served = serveProgram(program, parsed.value, {
    log: pino({ level: "silent" }),
    stop,
    lost: () => assert.fail("it never had the Lease"),
  });
  await assert.rejects(served, /pods\/gps-1: 403 Forbidden/);
  assert.ok(!asked.some((url) => url.includes("/leases/")));
});

/**
 * Serves this cluster with a controller of one replica until the test ends. `log`: a replica that
 * finds its image in its own pod, and its log.
 */
async function serve(t: TestContext, api: EmptyCluster, log?: Logger): Promise<Meters> {
  api.server.listen(0, "127.0.0.1");
  await once(api.server, "listening");
  const server = `http://127.0.0.1:${(api.server.address() as AddressInfo).port}`;
  const cluster = { server, "insecure-skip-tls-verify": true };
  const kubeconfig = writeKubeconfig(temporary(t), "late", cluster);
  const image = log === undefined ? ["--agent-image", "a.example/gps:1"] : [];
  const parsed = parseConfig(["--kubeconfig", kubeconfig, "--listen", ":0", ...image]);
  assert.ok(parsed.ok);
  const stop = new AbortController();
  const { promise: opened, resolve } = Promise.withResolvers<Meters>();
  const open: typeof openController = (config, around) => {
    resolve(around.meters);
    return openController(config, around);
  };
  const lost = () => assert.fail("the Lease is lost");
  const around = { log: log ?? pino({ level: "silent" }), stop, lost };
  const served = serveProgram({ ...program, open }, parsed.value, around);
  t.after(async () => {
    stop.abort();
    await served.finally(() => {
      api.server.closeAllConnections();
      api.server.close();
    });
  });
  return opened;
}

const metadata = { name: "additional-pull-secret", uid: "u", resourceVersion: "1" };

test("uses the API server's clock, however much the controller's clock differs", async (t) => {
  const api = new EmptyCluster();
  const days = 3;
  api.ahead = days * 24 * 3_600_000;
  api.additional = { metadata, type: "Opaque", data: {} };
  await serve(t, api);
  await until("an Event was created", () => api.events.length > 0, { timeout: 20_000 });
  const [time = ""] = api.events;
  assert.equal(Math.round((Date.parse(time) - Date.now()) / (24 * 3_600_000)), days);
});

for (const status of [0, 429, 500, 503])
  test(`reports in the log that the read of its own pod got ${status || "no answer"}, and starts when the next read succeeds`, async (t) => {
    process.env["POD_NAME"] = "gps-1";
    t.after(() => void delete process.env["POD_NAME"]);
    const api = new EmptyCluster();
    api.failure = status;
    const reported: string[] = [];
    const write = (text: string) => {
      const { level, msg, error } = JSON.parse(text) as Record<string, string | number>;
      if (level === 40 && api.elections === 0) reported.push(`${msg}: ${error}`);
    };
    await serve(t, api, pino({}, { write }));
    await until("it takes part in the election", () => api.elections > 0, { timeout: 20_000 });
    const unusable = reported.filter((line) => line.startsWith("the API server cannot be used"));
    assert.equal(unusable.length, 1, reported.join("\n"));
    assert.match(unusable[0] ?? "", new RegExp(`/pods/gps-1: ${status || "no answer"}`));
  });

for (const [status, result] of [
  [409, "conflict"],
  [500, "error"],
] as const)
  test(`counts a run that ends with ${status} as ${result}`, async (t) => {
    const api = new EmptyCluster();
    api.status = status;
    const document = '{"auths":{"a.io":{"auth":"dTpw"}}}';
    const data = { ".dockerconfigjson": Buffer.from(document).toString("base64") };
    api.additional = { metadata, type: "kubernetes.io/dockerconfigjson", data };
    const { registry } = await serve(t, api);
    const counted = new RegExp(
      `^global_pull_secret_reconcile_total\\{result="${result}"\\} [1-9]`,
      "m",
    );
    await until("it is counted", async () => counted.test(await registry.metrics()), {
      timeout: 5000,
    });
    assert.doesNotMatch(await registry.metrics(), /_reconcile_total\{result="ok"\} [1-9]/);
  });

test("counts a run, its requests and the Lease, and records when a run last succeeded", async (t) => {
  const { registry } = await serve(t, new EmptyCluster());
  const began = Date.now() / 1000;
  const valueOf = async (line: string) => {
    const [, value] = new RegExp(`^global_pull_secret_${line} (.+)$`, "m").exec(
      await registry.metrics(),
    ) ?? [undefined, "0"];
    return Number(value);
  };
  const isCounted = async () => (await valueOf('reconcile_total\\{result="ok"\\}')) > 0;
  await until("a run has succeeded", isCounted, { timeout: 5000 });
  assert.equal(await valueOf("leader"), 1);
  assert.ok((await valueOf('api_requests_total\\{method="GET",status="200"\\}')) > 0);
  assert.ok((await valueOf("reconcile_duration_seconds_count")) > 0);
  assert.ok((await valueOf("last_success_timestamp_seconds")) > began - 60);
});

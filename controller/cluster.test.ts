/** Tests one process that serves two clusters. A small HTTP server simulates each API server. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { text } from "node:stream/consumers";
import { pino } from "pino";
import { issue } from "#test/harness/api/certificate.ts";
import { until } from "../test/cluster/await.ts";
import { openCluster } from "./cluster.ts";
import { createMetrics } from "./status/metrics.ts";
import { parseConfig } from "./policy/config.ts";

/** Simulates an API server that can break. Its cluster is empty, and its Lease is free. */
class EmptyCluster {
  broken: boolean;
  /** The controllers that wrote the Lease, in the order of their first writes. */
  readonly holders = new Set<string>();
  /** Milliseconds by which the server's clock is ahead of ours. */
  ahead = 0;
  additional: object | undefined;
  /** The controller's state Secret. Undefined: the controller serves no nodes yet. */
  state: object | undefined;
  /**
   * The HTTP statuses of the next answers to dry runs of a policy. After these, each answer is 200.
   */
  refusesPolicy: number[] = [];
  /** Policies that were tried in a dry run. */
  readonly tried: unknown[] = [];
  readonly events: string[] = [];
  readonly server = createServer((request, response) => void this.#answer(request, response));

  constructor(broken: boolean) {
    this.broken = broken;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const respond = (status: number, answer: object) =>
      void response
        .writeHead(status, { "content-type": "application/json" })
        .end(JSON.stringify(answer));
    const { pathname, searchParams } = new URL(request.url ?? "", "http://a");
    response.setHeader("date", new Date(Date.now() + this.ahead).toUTCString());
    if (this.broken) return respond(500, { kind: "Status", reason: "InternalError" });
    if (pathname.includes("/leases") && request.method !== "GET") {
      const lease = JSON.parse(body) as { spec: { holderIdentity: string }; metadata: object };
      this.holders.add(lease.spec.holderIdentity);
      return respond(201, { ...lease, metadata: { ...lease.metadata, resourceVersion: "1" } });
    }
    if (request.method === "PATCH" && searchParams.has("dryRun")) {
      this.tried.push((JSON.parse(body) as { spec: object }).spec);
      assert.equal(this.holders.size, 0, "before it competes for the Lease");
      const message = "spec.rollout.probation: Invalid value";
      const status = this.refusesPolicy.shift() ?? 200;
      return respond(status, status === 200 ? JSON.parse(body) : { kind: "Status", message });
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
    if (pathname.endsWith("/global-pull-secret-state") && this.state !== undefined)
      return respond(200, this.state);
    return respond(404, { kind: "Status", reason: "NotFound" });
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

async function opened(
  t: TestContext,
  folder: string,
  name: string,
  api: EmptyCluster = new EmptyCluster(false),
  ...argv: readonly string[]
) {
  api.server.listen(0, "127.0.0.1");
  await once(api.server, "listening");
  const server = `http://127.0.0.1:${(api.server.address() as AddressInfo).port}`;
  const kubeconfig = writeKubeconfig(folder, name, { server, "insecure-skip-tls-verify": true });
  const given = ["--kubeconfig", kubeconfig, "--agent-image", "a.example/gps:1", ...argv];
  const parsed = parseConfig(given);
  assert.ok(parsed.ok);
  const stop = new AbortController();
  const cluster = openCluster({
    config: parsed.value,
    log: pino({ level: "silent" }),
    metrics: createMetrics(),
    end: () => assert.fail(`${name} lost its Lease`),
    leave: () => {},
  });
  const served = cluster.serve(stop.signal);
  const end = async () => {
    stop.abort();
    await served;
  };
  const isRefused = api.refusesPolicy.includes(422) && api.state === undefined;
  t.after(async () => {
    api.broken = false;
    if (isRefused) await assert.rejects(end(), /the API server refuses it/);
    else await end();
    api.server.closeAllConnections();
    api.server.close();
  });
  return { api, end, served, ready: () => cluster.health.ready().ready };
}

test("serves each of two clusters in one process, even when the other cluster fails or ends", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "gps-two-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const [one, other] = [
    await opened(t, folder, "one", new EmptyCluster(true)),
    await opened(t, folder, "other"),
  ];
  await until("the other cluster is served", other.ready, { timeout: 20_000 });
  assert.equal(one.ready(), false);
  assert.equal(one.api.holders.size, 0);
  one.api.broken = false;
  await until("the first cluster is served as well", one.ready, { timeout: 20_000 });
  assert.equal(one.api.holders.size, 1);
  assert.ok([...one.api.holders].every((holder) => !other.api.holders.has(holder)));
  await other.end();
  assert.equal(one.ready(), true);
});

test("B18: reports at once why an API server cannot be used, in the log", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "gps-silent-"));
  t.after(() => rmSync(folder, { recursive: true }));
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
    const parsed = parseConfig(["--kubeconfig", kubeconfig, "--agent-image", "a.example/gps:1"]);
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
    const opened = openCluster({
      config: parsed.value,
      log: pino({}, destination),
      metrics: createMetrics(),
      end: () => assert.fail("it never had the Lease"),
      leave: () => {},
    });
    const served = opened.serve(stop.signal);
    await reported;
    stop.abort();
    await served;
    const first = lines.find(({ level }) => level >= 40);
    assert.match(first?.error ?? "", /self-signed certificate/);
    assert.match(first?.msg ?? "", /it will be (?:retried|restarted)$/);
  }
});

test("uses the API server's clock, however much the controller's clock differs", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "gps-late-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const api = new EmptyCluster(false);
  const days = 3;
  api.ahead = days * 24 * 3_600_000;
  const metadata = { name: "additional-pull-secret", uid: "u", resourceVersion: "1" };
  api.additional = { metadata, type: "Opaque", data: {} };
  await opened(t, folder, "late", api);
  await until("an Event was created", () => api.events.length > 0, { timeout: 20_000 });
  const [time = ""] = api.events;
  assert.equal(Math.round((Date.parse(time) - Date.now()) / (24 * 3_600_000)), days);
});

const policy = { rollout: { probation: "1s" } };

test("if the API server refuses the policy, stops with one line and never tries to get the Lease", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "gps-policy-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const api = new EmptyCluster(false);
  api.refusesPolicy = [422];
  const { served } = await opened(t, folder, "wrong", api, `--policy=${JSON.stringify(policy)}`);
  await assert.rejects(served, {
    message:
      "GPS333: --policy: the API server refuses it: spec.rollout.probation: Invalid value; correct it (with Helm: the value policy)",
  });
  assert.deepEqual([api.tried, api.holders.size], [[policy], 0]);
});

test("waits for the CRD before it tries to get the Lease, so that it never follows the defaults", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "gps-policy-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const api = new EmptyCluster(false);
  api.refusesPolicy = [404];
  const { ready } = await opened(t, folder, "early", api, `--policy=${JSON.stringify(policy)}`);
  await until("the policy is tried again", () => api.tried.length === 2, { timeout: 20_000 });
  await until("the cluster is served", ready, { timeout: 20_000 });
});

for (const [what, status, state] of [
  ["is refused while nodes are served and no controller leads", 422, {}],
  ["cannot be tried", 405, undefined],
] as const)
  test(`leads although the policy ${what}`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "gps-policy-"));
    t.after(() => rmSync(folder, { recursive: true }));
    const api = new EmptyCluster(false);
    [api.refusesPolicy, api.state] = [[status], state];
    const { ready } = await opened(t, folder, "led", api, `--policy=${JSON.stringify(policy)}`);
    await until("the cluster is served", ready, { timeout: 20_000 });
    assert.deepEqual([api.tried, api.holders.size], [[policy], 1]);
  });

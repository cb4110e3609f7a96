/** Checks the renewal of a tenant's token. Both clusters are fakes, and the test sets the clock. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import { temporary } from "#test/temporary.ts";
import type { V1Secret } from "@kubernetes/client-node";
import { pino } from "pino";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { authority } from "#kube/kubeconfig/kubeconfig.fixture.ts";
import { systemRoots } from "#kube/kubeconfig/parse.ts";
import { readKubeconfig } from "#kube/remote.ts";
import { tokenFrom } from "#kube/token.fixture.ts";
import { timesIn } from "#kube/token.ts";
import { FakeApi } from "#test/harness/api/api.ts";
import { directly } from "#test/harness/api/direct.ts";
import { createRenewal } from "./renewal.ts";

const hour = 3_600_000;
const pinned = { "certificate-authority-data": authority };
const kubeconfigWith = (token: string, trust: object = pinned) =>
  JSON.stringify({
    clusters: [
      { name: "m", cluster: { server: "https://m", "tls-server-name": "m.internal", ...trust } },
    ],
    users: [{ name: "m", user: { token } }],
    contexts: [{ name: "m", context: { cluster: "m", user: "m" } }],
    "current-context": "m",
  });

const secret = "/api/v1/namespaces/kube-system/secrets/global-pull-secret-sync-management";

/** Starts the renewal with a token that has a lifetime of 24 hours and is `hours` hours old. */
async function renewalAt(
  t: TestContext,
  hours: number,
  refuses?: () => object,
  stored?: object,
  trust?: object,
) {
  const now = Date.parse("2026-11-27T00:00:00Z");
  t.mock.timers.enable({ apis: ["Date"], now });
  const folder = temporary(t);
  const file = join(folder, "kubeconfig");
  const config = kubeconfigWith(tokenFrom(now - hours * hour, now + (24 - hours) * hour), trust);
  writeFileSync(file, config);
  const api = new FakeApi();
  const home = directly(api, "global-pull-secret-sync");
  await home.create("/api/v1/namespaces/kube-system/secrets", {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "global-pull-secret-sync-management", namespace: "kube-system" },
    data: stored ?? { kubeconfig: Buffer.from(config).toString("base64") },
  });
  const asked: { path: string; body: object }[] = [];
  const management = {
    async create(path: string, body: object) {
      asked.push({ path, body });
      if (refuses !== undefined) return refuses();
      const expires = now + 30 * 24 * hour;
      return {
        status: {
          token: tokenFrom(now, expires),
        },
      };
    },
  } as unknown as Cluster;
  const reported: { ends: number; warning: string | undefined } = { ends: 0, warning: undefined };
  let looked = Promise.withResolvers<void>();
  const stop = new AbortController();
  const loop = createRenewal({
    home,
    management,
    namespace: "tenant-a",
    file,
    log: pino({ level: "silent" }),
    ends: (seconds) => (reported.ends = seconds),
    warn(message) {
      reported.warning = message;
      looked.resolve();
    },
  });
  const ended = loop.until(stop.signal);
  t.after(async () => {
    stop.abort();
    await ended;
  });
  await looked.promise;
  const storedAccess = () => {
    const data = api.object<V1Secret>(secret)?.data?.["kubeconfig"] ?? "";
    const read = readKubeconfig(Buffer.from(data, "base64"), "kept");
    return read.ok ? read.access : assert.fail("it is not a kubeconfig");
  };
  const again = async () => {
    looked = Promise.withResolvers<void>();
    await setImmediate();
    loop.hint();
    await looked.promise;
  };
  /** Restores the old token in the Secret, as another client would. */
  const putBack = (manager: string) =>
    home.apply(
      secret,
      {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: "global-pull-secret-sync-management" },
        data: { kubeconfig: Buffer.from(config).toString("base64") },
      },
      { manager, force: true },
    );
  /** The kubelet updates the file. */
  const update = () => writeFileSync(file, kubeconfigWith(tokenFrom(now, now + 24 * hour)));
  return { api, asked, reported, kept: storedAccess, again, putBack, update, now };
}

test("renews a token after half of its lifetime, and only once until the kubelet updates the file", async (t) => {
  const { asked, reported, kept: storedAccess, again, now } = await renewalAt(t, 12);
  assert.equal(asked.length, 1);
  assert.match(
    asked[0]?.path ?? "",
    /namespaces\/tenant-a\/serviceaccounts\/global-pull-secret-sync-tenant\/token$/,
  );
  assert.partialDeepStrictEqual(asked[0]?.body, {
    spec: {
      expirationSeconds: 2_592_000,
      boundObjectRef: { kind: "Secret", name: "global-pull-secret-sync-tenant-token" },
    },
  });
  const access = storedAccess();
  const { server, serverName } = access;
  assert.deepEqual([server, serverName, access.authority], ["https://m", "m.internal", authority]);
  assert.equal(timesIn(access.proof.token ?? "").expires, now + 30 * 24 * hour);
  assert.deepEqual(reported, { ends: (now + 12 * hour) / 1000, warning: undefined });
  await again();
  assert.equal(asked.length, 1);
});

test("renews the token only in the Secret that it has read, so that a deleted one is not created again", async (t) => {
  const { api } = await renewalAt(t, 12);
  const write = api.asked.find(({ verb }) => verb === "patch");
  assert.partialDeepStrictEqual(write?.body, {
    kind: "Secret",
    metadata: { uid: api.object<V1Secret>(secret)?.metadata?.uid },
  });
});

test("keeps the request for the system's roots when it renews a token", async (t) => {
  const trust = { extensions: [systemRoots] };
  const { kept: storedAccess, now } = await renewalAt(t, 12, undefined, undefined, trust);
  const { authority: renewedAuthority, proof } = storedAccess();
  assert.equal(renewedAuthority, undefined);
  assert.equal(timesIn(proof.token ?? "").expires, now + 30 * 24 * hour);
});

test("when another client keeps restoring the old token, renews it once an hour and names the client", async (t) => {
  let milliseconds = 0;
  t.mock.method(performance, "now", () => milliseconds);
  const { asked, reported, again, putBack, update } = await renewalAt(t, 12);
  for (let time = 0; time < 10; time += 1) {
    await putBack("argocd-controller");
    await again();
  }
  assert.equal(asked.length, 3);
  assert.match(reported.warning ?? "", /^GPS480: .* argocd-controller restores the old one/);
  for (const [time, renewals] of [
    [hour - 1000, 3],
    [hour, 4],
    [2 * hour - 1000, 4],
    [2 * hour, 5],
  ] as const) {
    milliseconds = time;
    await putBack("argocd-controller");
    await again();
    assert.equal(asked.length, renewals, `after ${time} ms`);
  }
  update();
  await again();
  assert.equal(reported.warning, undefined);
});

const refusal = (status: number, reason: string) => () => {
  throw new ApiError({ status, reason, method: "POST", path: "/x" });
};
const isOther = "the file is not Secret global-pull-secret-sync-management";
for (const [hours, why, refuses, stored] of [
  [18, "403 Forbidden", refusal(403, "Forbidden")],
  [18, "no answer Unreachable", refusal(0, "Unreachable")],
  [18, "no token", () => ({ status: {} })],
  [18, isOther, undefined, { kubeconfig: "e30=" }],
  [18, "no Secret global-pull-secret-sync-management", undefined, {}],
  [25, "expired"],
] as const)
  test(`reports why a token that is ${hours} h old was not renewed: ${why}`, async (t) => {
    const { reported } = await renewalAt(t, hours, refuses, stored);
    assert.ok(reported.warning?.includes(`(${why});`), reported.warning);
  });

const table: readonly (readonly [hours: number, asks: number, warns: boolean])[] = [
  [11, 0, false],
  [13, 1, false],
  [18, 1, true],
  [25, 0, true],
];
for (const [hours, asks, warns] of table)
  test(`if a 24 h token is ${hours} h old and its renewal is refused, sends ${asks} requests, and gives ${warns ? "a" : "no"} warning`, async (t) => {
    const { asked, reported } = await renewalAt(t, hours, refusal(403, "Forbidden"));
    assert.equal(asked.length, asks);
    if (warns) assert.match(reported.warning ?? "", /^GPS477: .* ends at 2026-11-2\dT/);
    else assert.equal(reported.warning, undefined);
  });

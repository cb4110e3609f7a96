import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { temporary } from "#test/temporary.ts";
import { mockDeadlines } from "#kube/client/deadline.fixture.ts";
import { contextsOf, namespaceOf, place, reach } from "./reach.ts";

/** Calls `then` with these environment variables, and then restores the old values. */
function having(variables: Readonly<Record<string, string>>, then: () => void): void {
  const { HOME = "", KUBECONFIG = "" } = process.env;
  Object.assign(process.env, variables);
  try {
    then();
  } finally {
    Object.assign(process.env, { HOME, KUBECONFIG });
  }
}

test("names the flag to set when there is no kubeconfig", () => {
  having({ HOME: "/nonexistent", KUBECONFIG: "" }, () =>
    assert.throws(() => contextsOf(undefined), {
      name: "Misuse",
      message: /^no kubeconfig: .*; give --kubeconfig FILE$/,
    }),
  );
});

test("gives the reason when the kubeconfig is empty, such as /dev/null", () => {
  const message = /^(?:kubeconfig|\/dev\/null): cannot be used \(is empty, or not YAML\); give /;
  assert.throws(() => contextsOf("/dev/null"), { name: "Misuse", message });
  having({ KUBECONFIG: "/dev/null" }, () =>
    assert.throws(() => contextsOf(undefined), { name: "Misuse", message }),
  );
});

test("refuses an http:// API server, except if insecure-skip-tls-verify is set", (t) => {
  const folder = temporary(t);
  const kubeconfig = join(folder, "config");
  const reaching = (cluster: object) => () => {
    const value = {
      "current-context": "proxy",
      contexts: [{ name: "proxy", context: { cluster: "a", user: "a" } }],
      clusters: [{ name: "a", cluster }],
      users: [{ name: "a", user: {} }],
    };
    writeFileSync(kubeconfig, JSON.stringify(value)); // JSON is YAML
    reach({ kubeconfig, context: undefined });
  };
  const server = "http://127.0.0.1:8001";
  assert.throws(reaching({ server }), {
    name: "Misuse",
    message: /^context "proxy": its server begins with http:\/\/, such as that of kubectl proxy; /,
  });
  assert.doesNotThrow(reaching({ server, "insecure-skip-tls-verify": true }));
});

test("waits 30 s for the answer of an API server, and no longer", async (t) => {
  const server = createServer().listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const kubeconfig = join(temporary(t), "config");
  const cluster = { server: `http://127.0.0.1:${port}`, "insecure-skip-tls-verify": true };
  const value = {
    "current-context": "silent",
    contexts: [{ name: "silent", context: { cluster: "a", user: "a" } }],
    clusters: [{ name: "a", cluster }],
    users: [{ name: "a", user: {} }],
  };
  writeFileSync(kubeconfig, JSON.stringify(value));
  const deadlines = mockDeadlines(t);
  const answer = reach({ kubeconfig, context: undefined }).get("/version");
  assert.equal(deadlines.pass(29_999), 0);
  assert.equal(deadlines.pass(30_000), 1);
  await assert.rejects(answer, /no answer Unreachable/);
});

for (const [token, sent] of [
  [undefined, "Bearer own"],
  ["another", "Bearer another"],
] as const)
  test(`sends the ${token === undefined ? "context's" : "given"} token`, async (t) => {
    const received: unknown[] = [];
    const server = createHttpServer(({ headers }, response) => {
      received.push(headers.authorization);
      response.end("{}");
    }).listen(0, "127.0.0.1");
    t.after(() => server.close());
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const cluster = { server: `http://127.0.0.1:${port}`, "insecure-skip-tls-verify": true };
    const users = [{ name: "a", user: { token: "own" } }];
    const kubeconfig = join(temporary(t), "config");
    const contexts = [{ name: "a", context: { cluster: "a", user: "a" } }];
    const clusters = [{ name: "a", cluster }];
    writeFileSync(
      kubeconfig,
      JSON.stringify({ "current-context": "a", contexts, clusters, users }),
    );
    await reach({ kubeconfig, context: undefined, ...(token && { token }) }).get("/version");
    assert.deepEqual(received, [sent]);
  });

test("reads the namespace and the address of each context", (t) => {
  const folder = temporary(t);
  const [kubeconfig, authority] = [join(folder, "config"), join(folder, "ca")];
  writeFileSync(authority, "authority");
  const server = "https://a.example";
  const data = "ZGF0YQ==";
  const clusters = [
    { server, "certificate-authority-data": data, "tls-server-name": "kubernetes" },
    { server, "certificate-authority": authority },
    { server },
    { server, "certificate-authority": `${authority}x` },
    // As for kubectl, the data count.
    {
      server,
      "certificate-authority-data": data,
      "certificate-authority": authority,
      "tls-server-name": "kubernetes",
    },
  ].map((cluster, at) => ({ name: `c${at}`, cluster }));
  const contexts = clusters.map(({ name }, at) => {
    return { name, context: { cluster: name, user: "u", ...(at === 0 && { namespace: "team" }) } };
  });
  const users = [{ name: "u", user: {} }];
  const config = { "current-context": "c1", clusters, contexts, users };
  writeFileSync(kubeconfig, JSON.stringify(config));
  const how = (context?: string) => ({ kubeconfig, context });
  assert.deepEqual(contextsOf(kubeconfig), ["c0", "c1", "c2", "c3", "c4"]);
  assert.deepEqual([namespaceOf(how("c0")), namespaceOf(how())], ["team", "default"]);
  for (const both of ["c0", "c4"]) assert.deepEqual(place(how(both)), clusters[0]?.cluster);
  const read = { server, "certificate-authority-data": btoa("authority") };
  assert.deepEqual([place(how()), place(how("c2"))], [read, { server }]);
  assert.throws(() => place(how("c3")), {
    name: "Misuse",
    message: /cax: cannot be used \(ENOENT/,
  });
  assert.throws(() => place(how("c5")), {
    name: "Misuse",
    message: /config: cannot be used \(the /,
  });
  assert.equal(reach({ ...how(), token: "t" }).identity, server);
});

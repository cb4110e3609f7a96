/** Whom the client trusts, and what it gives away. */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { makeCertificate } from "#test/harness/api/certificate.ts";
import { setUp, until } from "./api.fixture.ts";

for (const host of ["127.0.0.1", "::1"])
  test(`connects to the address ${host}`, async (t) => {
    const { server, open } = await setUp(t, { host });
    open();
    await until(() => server.watched() === 2);
    const { port } = server;
    const hosts = new Set(server.requests.map(({ host }) => host));
    assert.deepEqual([...hosts], [host === "::1" ? `[::1]:${port}` : `127.0.0.1:${port}`]);
    // Audit logs show it.
    const userAgents = new Set(server.requests.map(({ userAgent }) => userAgent));
    assert.deepEqual([...userAgents], ["global-pull-secret-agent"]);
  });

test("sends no token to a server of another authority, until ca.crt names that authority", async (t) => {
  const { server, open, clock, troubles, pauses } = await setUp(t);
  const authority = join(server.credentials, "ca.crt");
  const right = readFileSync(authority);
  writeFileSync(authority, makeCertificate().certificate);
  open();
  await until(() => pauses.length > 1);
  clock.now = 60_000;
  await until(() => troubles.length > 0);
  assert.equal(server.requests.length, 0);
  assert.match(troubles[0]?.detail ?? "", /^the \w+: [A-Z_]+$/);
  writeFileSync(authority, right);
  await until(() => server.watched() === 2);
});

test("sends no token to a server whose certificate has another name", async (t) => {
  const { server, open, clock, troubles, pauses } = await setUp(t);
  open({ host: "localhost" });
  await until(() => pauses.length > 1);
  clock.now = 60_000;
  await until(() => troubles.length > 0);
  assert.equal(server.requests.length, 0);
  assert.match(troubles[0]?.detail ?? "", /^the \w+: ERR_TLS_CERT_ALTNAME_INVALID$/);
});

test("reads the token again for each request, and keeps open watches when it changes", async (t) => {
  const { server, open, clock, troubles, pauses } = await setUp(t);
  const api = open();
  await until(() => server.watched() === 2);
  server.accept("token-2");
  server.secret({ revision: "7" });
  await until(() => typeof api.seen().secret === "object");
  assert.deepEqual(pauses, []);
  server.endWatches();
  await until(() => pauses.length > 4);
  clock.now = 60_000;
  await until(() => troubles.length > 0);
  assert.deepEqual(
    troubles.map(({ kind }) => kind),
    ["apiUnauthorized"],
  );
  server.writeToken("token-2\n");
  await until(() => server.watched() === 2);
});

for (const [what, damage] of Object.entries({
  missing: (file: string) => rmSync(file),
  "too large": (file: string) => writeFileSync(file, "x".repeat(1024 * 1024)),
  "not a header": (file: string) => writeFileSync(file, "hunter2\nhunter2"),
  "a directory": (file: string) => {
    rmSync(file);
    mkdirSync(file);
  },
}))
  test(`continues, and does not show the token, when its file was ${what}`, async (t) => {
    const { server, open, clock, troubles, pauses } = await setUp(t);
    const file = join(server.credentials, "token");
    damage(file);
    open();
    await until(() => pauses.length > 1);
    clock.now = 60_000;
    await until(() => troubles.length > 0);
    assert.equal(troubles[0]?.kind, "apiSilent");
    assert.doesNotMatch(troubles[0].detail, /hunter2/);
    rmSync(file, { recursive: true, force: true });
    server.writeToken("token-1");
    await until(() => server.watched() === 2);
  });

for (const body of ['{"data":{"a":"hunter2"', "hunter2", '{"metadata":"hunter2"}'])
  test(`does not show what the API server sent: ${body.replace("hunter2", "…")}`, async (t) => {
    const { server, open, clock, troubles, pauses } = await setUp(t);
    server.fail({ body }, ["list"]);
    open();
    await until(() => pauses.length > 1);
    clock.now = 60_000;
    await until(() => troubles.length > 0);
    assert.doesNotMatch(JSON.stringify(troubles), /hunter2/);
  });

test("reports the missing object when it is missing for long, and not the missing Secret", async (t) => {
  const { server, open, clock, troubles } = await setUp(t);
  const api = open();
  await until(() => server.watched() === 2);
  server.order();
  await until(() => typeof api.seen().own === "object");
  clock.now = 60_000;
  server.remove();
  await until(() => api.seen().own === "absent");
  assert.deepEqual(troubles, []);
  clock.now = 120_000;
  server.bookmark();
  await until(() => troubles.length > 0);
  assert.deepEqual(troubles, [
    { kind: "objectless", detail: "the NodePullSecret: it does not exist" },
  ]);
});

test("reports nothing if requests failed before and after a watch that was quiet", async (t) => {
  const { server, open, clock, troubles, pauses } = await setUp(t);
  server.fail("closed");
  open();
  await until(() => pauses.length > 2);
  server.heal();
  await until(() => server.watched() === 2);
  clock.now = 60_000;
  server.fail("closed");
  const { length } = pauses;
  server.endWatches();
  await until(() => pauses.length > length + 4);
  assert.deepEqual(troubles, []);
});

test("reads no token and no ca.crt of more than 256 KiB", async (t) => {
  const { server, open, clock, troubles, pauses } = await setUp(t);
  const authority = join(server.credentials, "ca.crt");
  const right = readFileSync(authority, "utf8");
  writeFileSync(authority, right + "\n".repeat(256 * 1024));
  open();
  await until(() => pauses.length > 1);
  clock.now = 60_000;
  await until(() => troubles.length > 0);
  assert.equal(server.requests.length, 0);
  writeFileSync(authority, right);
  await until(() => server.watched() === 2);
});

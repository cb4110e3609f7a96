/**
 * `check --login` on a real registry, and on a server with TLS whose certificate the test has
 * signed.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import { connect, createServer as createTcpServer, type AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { file } from "#plugin/cases.fixture.ts";
import { respond, serve } from "#registry/server.fixture.ts";
import { authorityAt } from "../cluster/host/certificates.ts";
import { declare, document, paths, wipe } from "../controller/plane.ts";
import { password, type PluginRig } from "./rig.ts";

/** An address of this machine that leads to a registry, because we use plain HTTP only here. */
async function loopbackTo(registry: string) {
  const [host = "", port] = registry.split(":");
  const server = createTcpServer((socket) => {
    const far = connect(Number(port), host);
    socket.on("error", () => far.destroy()).pipe(far);
    far.on("error", () => socket.destroy()).pipe(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.close();
      await Promise.resolve();
    },
  };
}

export function loginTests({ on, plugin }: PluginRig): void {
  test("check --login sends the cluster's credentials to their registries", async () => {
    const { registry } = on().cluster;
    await using near = await loopbackTo(registry.address);
    const pair = `additional:${registry.users["additional"]}`;
    await declare(on(), document({ [near.address]: pair }));
    const good = await plugin("check --login");
    assert.deepEqual(
      [good.code, good.out],
      [0, `accepted: 1 registry\n  ${near.address}  Accepted\n`],
      good.err,
    );

    await declare(on(), document({ [near.address]: `additional:${password}` }));
    const bad = await plugin("check --login -o json");
    assert.equal(bad.code, 1, bad.err);
    const [reported] = (JSON.parse(bad.out) as { registries: object[] }).registries;
    const why = "the registry answers 401";
    assert.deepEqual(reported, { registry: near.address, answer: "Denied", why });
    assert.ok(!`${bad.out}${bad.err}`.includes(password));

    const held = await plugin("check --login", "", "nobody");
    assert.equal(held.code, 1);
    assert.match(held.err, /403 Forbidden.*; ask for that right/);
    // The plugin sends nothing to a registry of another machine without TLS.
    await declare(on(), document({ [registry.address]: pair }));
    const plain = await plugin("check --login");
    assert.equal(plain.code, 1);
    assert.match(plain.out, /Unknown {2}does not speak TLS/);
    await wipe(on());
    assert.equal(await on().api.get(paths.additional), undefined);
  });

  test("check --login reports an untrusted certificate, and sends no credential to a token service without TLS", async () => {
    const authority = authorityAt(dirname(on().cluster.ca));
    await authority.sign("registry", "/CN=registry", ["127.0.0.1"]);
    await using tokens = await serve((_, response) => respond(response, 200, {}, '{"token":"t"}'));
    let realm = `http://${tokens.host}/token`;
    const [key, cert] = ["key", "crt"].map((kind) =>
      readFileSync(join(authority.directory, `registry.${kind}`)),
    );
    const server = createServer({ key, cert }, (request, response) => {
      const isAuthorized = request.headers.authorization === "Bearer t";
      if (request.url?.startsWith("/token")) return respond(response, 200, {}, '{"token":"t"}');
      respond(response, isAuthorized ? 200 : 401, {
        "www-authenticate": `Bearer realm="${realm}"`,
      });
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const secret = file("tls.json", document({ [host]: `robot:${password}` }));
    try {
      const foreign = await plugin(`check --login -f ${secret}`);
      assert.equal(foreign.code, 1);
      assert.match(foreign.out, /TLS: its certificate is not trusted here/);

      process.env["NODE_EXTRA_CA_CERTS"] = on().cluster.ca;
      const open = await plugin(`check --login -f ${secret}`);
      assert.match(open.out, /a token service without TLS, which gets no credential/);
      assert.deepEqual(tokens.asked, []);
      realm = `https://${host}/token`;
      const good = await plugin(`check --login -f ${secret}`);
      assert.deepEqual([good.code, good.err], [0, ""], good.out);
    } finally {
      delete process.env["NODE_EXTRA_CA_CERTS"];
      server.closeAllConnections();
      server.close();
    }
  });
}

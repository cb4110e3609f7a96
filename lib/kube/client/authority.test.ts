/** B01, B02: which servers an authority verifies. The outcomes are those of client-go. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { RequestListener } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { KubeConfig } from "@kubernetes/client-node";
import { issue, type Issued } from "#test/harness/api/certificate.ts";
import { connect } from "./client.ts";

const root = issue("root");
const middle = issue("intermediate", root);
const server = issue("server", middle);
/** Another authority with the same name. */
const impostor = issue("intermediate", issue("root"));

const short = [server];
const long = [server, middle];
const wrong = /Unreachable: (?:unable to|self-signed certificate|certificate signature failure)/;

const rows = [
  ["the intermediate alone", [middle], short, true],
  ["the intermediate alone, which the server also sends", [middle], long, true],
  ["the root", [root], long, true],
  ["the root, without the intermediate", [root], short, false],
  ["the root and the intermediate", [root, middle], short, true],
  ["the server's own certificate", [server], short, true],
  ["another intermediate of the same name", [impostor], short, false],
  ["another intermediate of the same name, beside the true chain", [impostor], long, false],
  ["another root", [issue("root")], long, false],
] as const;

/** A server that sends these certificates. The first is the server's own. */
async function serving(sent: readonly Issued[], answer: RequestListener) {
  const chain = sent.map(({ certificate }) => certificate).join("");
  const api = createServer({ key: server.key, cert: chain }, answer);
  await once(api.listen(0, "127.0.0.1"), "listening");
  return {
    url: `https://127.0.0.1:${(api.address() as AddressInfo).port}`,
    [Symbol.dispose]: () => (api.closeAllConnections(), api.close()),
  };
}

function reaching(url: string, authority: readonly Issued[] | undefined) {
  const config = new KubeConfig();
  const text = authority?.map(({ certificate }) => certificate).join("");
  const caData = text && { caData: Buffer.from(text).toString("base64") };
  const cluster = { name: "one", server: url, skipTLSVerify: false, ...caData };
  config.loadFromClusterAndUser(cluster, { name: "user", token: "t" });
  return connect(config, () => {});
}

for (const [what, authority, sent, trusted] of rows)
  test(`B01: an authority of ${what} ${trusted ? "verifies" : "refuses"} the server`, async () => {
    using api = await serving(sent, (_, response) => void response.end('{"found":true}'));
    const asked = reaching(api.url, authority).get("/one");
    if (trusted) assert.deepEqual(await asked, { found: true });
    else await assert.rejects(asked, wrong);
  });

test("B02: without an authority, verifies a server only by the system's roots", async (t) => {
  const usual = getCACertificates("default");
  t.after(() => setDefaultCACertificates(usual));
  using inner = await serving(long, (_, response) => void response.end('{"found":true}'));
  using api = await serving(long, (request, response) => {
    if (request.url === "/one") return void response.end('{"found":true}');
    response.writeHead(307, { location: `${inner.url}/one` }).end();
  });
  await assert.rejects(reaching(api.url, undefined).get("/one"), wrong);
  setDefaultCACertificates([...usual, root.certificate]);
  assert.deepEqual(await reaching(api.url, undefined).get("/one"), { found: true });
  await assert.rejects(reaching(api.url, undefined).get("/away"), /redirected to another server/);
  // A given authority replaces the system's roots.
  await assert.rejects(reaching(api.url, [issue("another")]).get("/one"), wrong);
});

/** B01: which servers a certificate authority vouches for. The outcomes are those of client-go. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { KubeConfig } from "@kubernetes/client-node";
import { issue } from "#test/harness/api/certificate.ts";
import { connect } from "./client.ts";

const root = issue("root");
const middle = issue("intermediate", root);
const server = issue("server", middle);
/** Another authority, which calls itself the same. */
const impostor = issue("intermediate", issue("root"));

const short = [server];
const long = [server, middle];
const wrong = /Unreachable: (?:unable to|self-signed certificate|certificate signature failure)/;

const rows = [
  ["the intermediate alone", [middle], short, true],
  ["the intermediate alone, which the server sends, too", [middle], long, true],
  ["the root", [root], long, true],
  ["the root, without the intermediate between", [root], short, false],
  ["both", [root, middle], short, true],
  ["the server's own certificate", [server], short, true],
  ["another one of the same name", [impostor], short, false],
  ["another one of the same name, beside the true chain", [impostor], long, false],
  ["another root", [issue("root")], long, false],
] as const;

for (const [what, authority, sent, trusted] of rows)
  test(`B01: an authority of ${what} ${trusted ? "verifies" : "refuses"} the server`, async () => {
    const chain = sent.map(({ certificate }) => certificate).join("");
    const answers = createServer({ key: server.key, cert: chain }, (_, response) => {
      response.end('{"found":true}');
    });
    await once(answers.listen(0, "127.0.0.1"), "listening");
    const config = new KubeConfig();
    const text = authority.map(({ certificate }) => certificate).join("");
    config.loadFromClusterAndUser(
      {
        name: "one",
        server: `https://127.0.0.1:${(answers.address() as AddressInfo).port}`,
        caData: Buffer.from(text).toString("base64"),
        skipTLSVerify: false,
      },
      { name: "user", token: "t" },
    );
    const asked = connect(config, () => {}).get("/one");
    if (trusted) assert.deepEqual(await asked, { found: true });
    else await assert.rejects(asked, wrong);
    answers.closeAllConnections();
    answers.close();
  });

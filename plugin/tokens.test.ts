/** F61: checks that no command shows a token, whatever field it is in. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import { globalPullSecretPath } from "#kube/client/paths.ts";
import { marked, planted, tokens } from "#pullsecret/tokens.fixture.ts";
import { additionalPath, call, FakeCluster, pullSecret } from "./fake.fixture.ts";
import { conditionsOf, object, source } from "./object.fixture.ts";

function cluster(document: string, token: string): FakeCluster {
  const fake = new FakeCluster();
  const keys = Object.keys((JSON.parse(document) as { auths: object }).auths);
  // The tokens in this status are not redacted. An older controller or another client could have
  // written it.
  const registries = keys.map((registry) => ({ registry, source: "original" }));
  const text = marked.includes(token) ? token : "another";
  const conditions = conditionsOf("person", "Halted", `revision 8 failed on n7: ${text}`);
  const status = { sources: [source("812")], registries, conditions };
  fake.objects.set(globalPullSecretPath, object({ status }));
  const data = { ".dockerconfigjson": Buffer.from(document).toString("base64") };
  fake.objects.set(additionalPath, { ...pullSecret({}), data });
  return fake;
}

const images = ["0.io/a", "1.io/a", "2.io/a", "3.io/a", "u.io/a", "v.io/a", "w.io/a", "y.io/a"];
const ofFiles = [
  ...images.flatMap((image) => [
    ["explain", image, "-f", "-"],
    ["explain", image, "-f", "-", "-o", "json"],
    ["explain", image, "-f", "-", "-o", "yaml"],
  ]),
  ["check", "-"],
  ["check", "-", "-o", "json"],
];
const ofRefused = [
  ["check", "-"],
  ["explain", "0.io/a", "-f", "-"],
];
const ofCluster = [
  ["check"],
  ["explain", "0.io/a"],
  ["explain", "z.io/a", "-o", "json"],
  ["status"],
  ["status", "-o", "json"],
  ["nodes"],
  ["wait"],
  ["wait", "--timeout", "0"],
  ["remove", "0.io"],
];

for (const token of tokens)
  test(`no command shows ${token.slice(0, 12)}`, async () => {
    const { documents, secrets } = planted(token);
    const [good = ""] = documents;
    let lines = 0;
    const run = async (argv: readonly string[], input: string) => {
      const { out, err } = await call(argv, { cluster: cluster(good, token), input });
      lines += `${out}${err}`.split("\n").length;
      for (const secret of secrets)
        assert.ok(!`${out}${err}`.includes(secret), `${argv.join(" ")}: ${out}${err}`);
    };
    for (const argv of ofFiles) await run(argv, good);
    for (const document of documents) {
      for (const argv of ofRefused) await run(argv, document);
      // With --show-credentials, the output contains the credentials.
      const { err } = await call(["merge", "--show-credentials", "--additional", "-"], {
        input: document,
      });
      for (const secret of secrets) assert.ok(!err.includes(secret), err);
    }
    for (const argv of ofCluster) await run(argv, "");
    await run(["add", "new.io", "-u", token, "--password-stdin"], token);
    await run(["add", "new.io", "-u", `${token}:x`, "--password-stdin"], token);
    assert.ok(lines > 150, `${lines} lines`);
  });

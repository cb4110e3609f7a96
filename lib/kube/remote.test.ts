import assert from "node:assert/strict";
import { test } from "node:test";
import { formatProblem } from "#pullsecret/problems/problems.ts";
import { authority, certificate, key, kubeconfig, token } from "./kubeconfig/kubeconfig.fixture.ts";
import { kubeConfigOf, readKubeconfig } from "./remote.ts";
import { dumpYaml } from "./yaml.ts";

const read = (text: string | Uint8Array) => readKubeconfig(Buffer.from(text), "guest");
const code = (text: string | Uint8Array) => {
  const result = read(text);
  return result.ok ? "ok" : result.problems.map(({ code }) => code).join();
};

test("reads a kubeconfig as YAML, as JSON, and with its fields in any order", () => {
  assert.equal(code(dumpYaml(kubeconfig())), "ok");
  assert.equal(code(JSON.stringify(kubeconfig())), "ok");
  assert.equal(code(dumpYaml({ ...kubeconfig(), apiVersion: undefined, kind: undefined })), "ok");
});

test("reads a kubeconfig of 256 KiB", () => {
  const text = dumpYaml(kubeconfig());
  assert.equal(code(`${text}#${"x".repeat(256 * 1024 - text.length - 1)}`), "ok");
});

const odd: readonly (readonly [what: string, text: string | Uint8Array, code: string])[] = [
  ["an empty text", "", "GPS402"],
  ["a text that is not YAML", "clusters: [", "GPS402"],
  ["two documents", "a: 1\n---\nb: 2", "GPS402"],
  ["a field twice", "users: []\nusers: []", "GPS402"],
  ["a tag that would make an object", "users: !!js/function 'return 1'", "GPS402"],
  ["bytes that are not UTF-8", Buffer.from([0xff, 0xfe, 0x41]), "GPS402"],
  ["10,000 levels", "[".repeat(10_000), "GPS402"],
  ["256 KiB and one byte", `#${" ".repeat(256 * 1024)}`, "GPS401"],
  ["a text", "planted", "GPS403"],
  [
    "a kubeconfig under the key `__proto__`",
    `{"__proto__": ${JSON.stringify(kubeconfig())}}`,
    "GPS404",
  ],
];

for (const [what, text, expectedCode] of odd)
  test(`${expectedCode}: ${what}`, () => assert.match(code(text), new RegExp(expectedCode)));

test("reads aliases of aliases without expanding them", () => {
  const levels = Array.from({ length: 20 }, (_, at) => {
    const before = at === 0 ? "x" : `*a${at - 1}`;
    return `a${at}: &a${at} [${Array.from({ length: 9 }, () => before).join()}]`;
  });
  assert.match(code(levels.join("\n")), /GPS404/);
});

test("does not pass on the YAML reader's message, because it quotes the text", () => {
  const result = read(`users: [{name: a, user: {token: planted-token-3f9a, exec: *none}}]`);
  assert.ok(!result.ok && !result.problems.map(formatProblem).join().includes("planted"));
});

test("makes a connection from the server, its authority and the credential, and from nothing else", () => {
  const user = { token, "client-certificate-data": certificate, "client-key-data": key };
  const result = read(JSON.stringify(kubeconfig({ "tls-server-name": "inner" }, user)));
  const config = kubeConfigOf((result.ok && result.access) || assert.fail("refused"));
  assert.deepEqual(config.getCurrentCluster(), {
    name: "remote",
    server: "https://guest.example:6443",
    caData: authority,
    skipTLSVerify: false,
    tlsServerName: "inner",
  });
  assert.deepEqual(config.getCurrentUser(), {
    name: "remote",
    token,
    certData: certificate,
    keyData: key,
  });
});

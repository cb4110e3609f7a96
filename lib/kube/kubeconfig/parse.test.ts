import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import fc from "fast-check";
import { formatProblem } from "#pullsecret/problems/problems.ts";
import {
  authority,
  certificate,
  key,
  kubeconfig,
  token,
  type Fields,
} from "./kubeconfig.fixture.ts";
import { parseKubeconfig } from "./parse.ts";

const codes = (value: unknown): readonly string[] => {
  const read = parseKubeconfig(value, "guest");
  return read.ok ? [] : read.problems.map(({ code }) => code);
};

const certified = { "client-certificate-data": certificate, "client-key-data": key };
const base64 = (text: string) => Buffer.from(text).toString("base64");

const noCertificate = base64("-----BEGIN CERTIFICATE-----\naGFsbG8=\n-----END CERTIFICATE-----\n");
/** One file with both certificates, in this order. */
const chain = (first: string, second: string) =>
  base64([first, second].map((part) => Buffer.from(part, "base64")).join(""));
const chained = (...parts: Parameters<typeof chain>) =>
  kubeconfig({}, { ...certified, "client-certificate-data": chain(...parts) });

const publicly = (extension: unknown, authorityData?: string) =>
  kubeconfig({
    "certificate-authority-data": authorityData,
    extensions: [
      { name: "other", extension: {} },
      { name: "globalpullsecret.io/certificate-authority", extension },
    ],
  });

const accepted: readonly (readonly [what: string, value: Fields])[] = [
  ["a token", kubeconfig()],
  ["a certificate and its key", kubeconfig({}, certified)],
  ["a certificate before that of its authority", chained(certificate, authority)],
  ["a token of 16 KiB", kubeconfig({}, { token: "a".repeat(16 * 1024) })],
  ["a certificate, its key and a token", kubeconfig({}, { ...certified, token })],
  ["a server name", kubeconfig({ "tls-server-name": "guest.internal" })],
  ["a server below a path", kubeconfig({ server: "https://rancher.example/k8s/clusters/c-1/" })],
  ["false or empty fields", kubeconfig({ "insecure-skip-tls-verify": false, "proxy-url": "" })],
  ["a request for the system's roots", publicly({ roots: "system" })],
  ["fields without an effect", kubeconfig({ extensions: [], "disable-compression": true })],
];

for (const [what, value] of accepted)
  test(`accepted: ${what}`, () => assert.deepEqual(codes(value), []));

test("B02: prefers a given authority to the system's roots", () => {
  const authorityOf = (value: unknown) => {
    const read = parseKubeconfig(value, "guest");
    return read.ok ? read.access.authority : "refused";
  };
  assert.equal(authorityOf(publicly({ roots: "system" })), undefined);
  assert.equal(authorityOf(publicly({ roots: "system" }, authority)), authority);
});

const user = (more: Fields) => kubeconfig({}, { token, ...more });
const refused: readonly (readonly [code: string, what: string, value: unknown])[] = [
  ["GPS403", "a list", []],
  ["GPS403", "nothing", null],
  ["GPS403", "a cluster that is a text", { ...kubeconfig(), clusters: [{ name: "guest" }] }],
  ["GPS404", "no current context", kubeconfig({}, { token }, { "current-context": "none" })],
  ["GPS404", "an empty current context", kubeconfig({}, { token }, { "current-context": "" })],
  ["GPS404", "a missing cluster", kubeconfig({}, { token }, { clusters: [] })],
  ["GPS404", "a missing user", kubeconfig({}, { token }, { users: null })],
  [
    "GPS404",
    "two users of the same name",
    kubeconfig({}, {}, { users: [1, 2].map(() => ({ name: "guest-admin", user: { token } })) }),
  ],
  ["GPS405", "plain http", kubeconfig({ server: "http://guest.example" })],
  ["GPS405", "a socket", kubeconfig({ server: "unix:///run/docker.sock" })],
  ["GPS405", "a user in the URL", kubeconfig({ server: "https://a:b@guest.example" })],
  ["GPS405", "a query", kubeconfig({ server: "https://guest.example?to=here" })],
  ["GPS405", "a fragment", kubeconfig({ server: "https://guest.example#" })],
  ["GPS405", "no server", kubeconfig({ server: undefined })],
  ["GPS406", "no authority", kubeconfig({ "certificate-authority-data": "" })],
  ["GPS406", "no authority, and another extension", publicly({ roots: "all" })],
  ["GPS406", "no authority, and the extension as a text", publicly("system")],
  [
    "GPS406",
    "no authority, and two extensions that disagree",
    kubeconfig({
      "certificate-authority-data": undefined,
      extensions: ["system", "all"].map((roots) => ({
        name: "globalpullsecret.io/certificate-authority",
        extension: { roots },
      })),
    }),
  ],
  ["GPS406", "the system's roots beside an invalid authority", publicly({ roots: "system" }, "x")],
  [
    "GPS406",
    "an authority that is not PEM",
    kubeconfig({ "certificate-authority-data": "aGFsbG8=" }),
  ],
  [
    "GPS406",
    "an authority in PEM that is not a certificate",
    kubeconfig({ "certificate-authority-data": noCertificate }),
  ],
  [
    "GPS406",
    "an authority of which one certificate is not valid",
    kubeconfig({ "certificate-authority-data": chain(authority, noCertificate) }),
  ],
  ["GPS417", "a certificate after that of its authority", chained(authority, certificate)],
  ["GPS407", "a server name with a line break", kubeconfig({ "tls-server-name": "a\r\nb" })],
  ["GPS408", "exec", user({ exec: { command: "/bin/sh", args: ["-c", "id"] } })],
  ["GPS409", "auth-provider", user({ "auth-provider": { name: "gcp" } })],
  ["GPS410", "tokenFile", user({ tokenFile: "/var/run/secrets/token" })],
  ["GPS410", "client-certificate", user({ "client-certificate": "/etc/passwd" })],
  ["GPS410", "client-key", user({ "client-key": "key.pem" })],
  ["GPS410", "certificate-authority", kubeconfig({ "certificate-authority": "/etc/ca.crt" })],
  ["GPS411", "insecure-skip-tls-verify", kubeconfig({ "insecure-skip-tls-verify": true })],
  ["GPS411", "a text in place of a boolean", kubeconfig({ "insecure-skip-tls-verify": "false" })],
  ["GPS412", "proxy-url", kubeconfig({ "proxy-url": "socks5://10.0.0.1" })],
  ["GPS413", "as", user({ as: "system:admin" })],
  ["GPS413", "as-uid", user({ "as-uid": "1" })],
  ["GPS413", "as-groups", user({ "as-groups": ["system:masters"] })],
  ["GPS413", "as-user-extra", user({ "as-user-extra": { scopes: ["all"] } })],
  ["GPS414", "a password", user({ username: "admin", password: "planted-password" })],
  ["GPS415", "no credential", kubeconfig({}, {})],
  ["GPS416", "a token of two lines", kubeconfig({}, { token: "a\nb" })],
  ["GPS416", "a token that is not a text", kubeconfig({}, { token: 5 })],
  ["GPS416", "a token longer than 16 KiB", kubeconfig({}, { token: "a".repeat(16 * 1024 + 1) })],
  [
    "GPS417",
    "a certificate without its key",
    kubeconfig({}, { ...certified, "client-key-data": "" }),
  ],
  ["GPS417", "a key without its certificate", kubeconfig({}, { "client-key-data": key })],
  [
    "GPS417",
    "the certificate of another key",
    kubeconfig({}, { ...certified, "client-certificate-data": authority }),
  ],
  ["GPS418", "an unknown field of a user", user({ "planted-field": "x" })],
  ["GPS418", "an unknown field of a cluster", kubeconfig({ resolver: "10.0.0.1" })],
  ["GPS418", "an unknown field at the top", kubeconfig({}, { token }, { include: "x" })],
];

for (const [code, what, value] of refused)
  test(`${code}: refuses ${what}`, () => assert.ok(codes(value).includes(code)));

/** Kubeconfigs, and the code and place of each mistake. */
const places: readonly (readonly [value: unknown, ...mistakes: readonly string[]])[] = [
  ["a text", "GPS403 kubeconfig"],
  [
    kubeconfig({}, { token }, { "current-context": "none", include: "x" }),
    "GPS418 kubeconfig",
    'GPS404 ["current-context"]',
  ],
  [
    kubeconfig({}, { token }, { clusters: [], users: [] }),
    "GPS404 contexts[0].context.cluster",
    "GPS404 contexts[0].context.user",
  ],
  [
    kubeconfig({ "proxy-url": "http://p" }, { token, exec: {}, as: "root" }),
    'GPS412 clusters[1].cluster["proxy-url"]',
    "GPS408 users[1].user.exec",
    "GPS413 users[1].user.as",
  ],
  [
    kubeconfig({ "tls-server-name": " ", server: "a", region: "b" }, { token: 5 }),
    "GPS418 clusters[1].cluster",
    'GPS407 clusters[1].cluster["tls-server-name"]',
    "GPS405 clusters[1].cluster.server",
    "GPS416 users[1].user.token",
  ],
  [
    kubeconfig({ "certificate-authority-data": "" }, { "client-key-data": key }),
    'GPS406 clusters[1].cluster["certificate-authority-data"]',
    'GPS417 users[1].user["client-certificate-data"]',
  ],
  [kubeconfig({}, {}), "GPS415 users[1].user"],
];
test("names all mistakes at once, each at its place", () => {
  for (const [value, ...mistakes] of places) {
    const read = parseKubeconfig(value, "guest");
    assert.deepEqual(read.ok || read.problems.map(({ code, path }) => `${code} ${path}`), mistakes);
  }
});

/** Milliseconds to refuse 32 KiB of blanks in fields of this size: the shortest of five runs. */
function refusing(size: number): number {
  const value = kubeconfig() as { clusters: { cluster: object }[] };
  const text = `AAAA${" ".repeat(size)}!`;
  for (const { cluster } of value.clusters)
    Object.assign(cluster, { "certificate-authority-data": text });
  const times = Array.from({ length: 5 }, () => {
    const begun = performance.now();
    for (let bytes = 0; bytes < 32 * 1024; bytes += size)
      assert.deepEqual(codes(value), ["GPS406"]);
    return performance.now() - begun;
  });
  return Math.min(...times);
}

test("reads endless blanks in a base64 field in linear time", () => {
  const [many, single] = [refusing(2 * 1024), refusing(32 * 1024)];
  // Matching again from each blank would take quadratic time: 16 times as long.
  assert.ok(single < 6 * many, `${many} ms, then ${single} ms`);
});

test("ignores an inherited field", () => {
  const inherited = Object.create(kubeconfig()) as object;
  assert.deepEqual(codes(inherited), ["GPS404"]);
});

test("treats another server as another cluster, and a renewed credential as the same cluster", () => {
  const place = (value: Fields) => {
    const read = parseKubeconfig(value, "guest");
    return read.ok ? read.access.place : assert.fail(JSON.stringify(read.problems));
  };
  const here = place(kubeconfig());
  assert.equal(place(kubeconfig({}, certified)), here);
  assert.notEqual(place(kubeconfig({ server: "https://other.example:6443" })), here);
  assert.notEqual(place(kubeconfig({ "tls-server-name": "other.example" })), here);
  assert.notEqual(place(kubeconfig({ "certificate-authority-data": certificate })), here);
});

test("never prints the credential of a kubeconfig that was read", () => {
  const read = parseKubeconfig(kubeconfig({}, { ...certified, token }), "guest");
  if (!read.ok) assert.fail("refused");
  assert.deepEqual(read.access.proof, { token, certificate, key });
  const printed = `${read.access} ${JSON.stringify(read)} ${inspect(read, { depth: 9, showHidden: true })}`;
  for (const secret of [token, key, certificate]) assert.ok(!printed.includes(secret));
});

const secret = "planted-7c21";
/** Any value, with the secret wherever a text or a field's name can be. */
const anything = fc.anything({
  values: [fc.constant(secret), fc.constant(authority), fc.boolean(), fc.integer()],
  key: fc.constantFrom(secret, "name", "token", "server", "cluster", "user", "exec", "__proto__"),
  maxDepth: 4,
});

test("law: refuses every odd value without throwing, and never quotes it in a message", () => {
  const fields = fc.dictionary(
    fc.constantFrom("clusters", "users", "contexts", "current-context", secret, "exec"),
    anything,
  );
  const within = fc
    .tuple(fields, anything)
    .map(([top, odd]) =>
      kubeconfig({ server: odd }, { token: odd, "client-key-data": odd, [secret]: odd }, top),
    );
  fc.assert(
    fc.property(fc.oneof(anything, fields, within), (value) => {
      const read = parseKubeconfig(value, "guest");
      assert.ok(!read.ok);
      assert.ok(read.problems.length > 0);
      for (const line of read.problems.map(formatProblem)) assert.ok(!line.includes(secret));
    }),
    { numRuns: 2000 },
  );
});

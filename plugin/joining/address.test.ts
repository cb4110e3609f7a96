import assert from "node:assert/strict";
import { test } from "node:test";
import { authority } from "#kube/kubeconfig/kubeconfig.fixture.ts";
import { Misuse } from "../terminal/io.ts";
import { addressFor } from "./address.ts";

const none = { server: undefined, "tls-server-name": undefined, "system-roots": false };
const at = (server: string) => ({ server, "certificate-authority-data": authority });

test("uses the context's address unchanged", () => {
  const address = { ...at("https://east.example:6443"), "tls-server-name": "kubernetes" };
  assert.deepEqual(addressFor(address, none, "east"), address);
});

test("B02: accepts a context without a certificate authority only with --system-roots", () => {
  const address = { server: "https://rancher.example/k8s/clusters/c-1" };
  assert.deepEqual(addressFor(address, { ...none, "system-roots": true }, "east"), {
    ...address,
    extensions: [
      { name: "globalpullsecret.io/certificate-authority", extension: { roots: "system" } },
    ],
  });
  assert.throws(() => addressFor(address, none, "east"), /or --system-roots if a public authority/);
  const pinned = at("https://east.example:6443");
  assert.throws(
    () => addressFor(pinned, { ...none, "system-roots": true }, "east"),
    /^Misuse: --system-roots: the context has a certificate authority; leave it out$/,
  );
});

test("prefers the address of --server, even an address of this machine", () => {
  const flags = { ...none, server: "https://127.0.0.1:6443", "tls-server-name": "kubernetes" };
  assert.deepEqual(addressFor(at("https://localhost:1"), flags, "kind"), {
    ...at(flags.server),
    "tls-server-name": "kubernetes",
  });
});

const loopback = [
  "https://127.0.0.1:6443",
  "https://127.1:6443",
  "https://localhost",
  "https://LOCALHOST.:6443",
  "https://east.localhost:6443",
  "https://0.0.0.0:6443",
  "https://[::1]:6443",
  "https://[::]:6443",
  "https://[::ffff:127.0.0.1]:6443",
];
for (const server of loopback)
  test(`refuses the address ${server} of a context, because in the controller's pod it leads elsewhere`, () =>
    assert.throws(() => addressFor(at(server), none, "kind"), {
      name: Misuse.name,
      message:
        "GPS419 --context kind: clusters[0].cluster.server: is an address of this machine, where " +
        "the controller would only reach itself; give --server with an address that the host can reach",
    }));

for (const server of [
  "https://127.example.com",
  "https://localhost.example.com",
  "https://10.0.0.1",
])
  test(`does not treat ${server} as an address of this machine`, () =>
    assert.equal(addressFor(at(server), none, "east").server, server));

const refused: readonly (readonly [code: string, found: object, given: object])[] = [
  ["GPS405", {}, { server: "http://east.example" }],
  ["GPS405", {}, { server: "east.example:6443" }],
  ["GPS405", { server: "https://robot:pl4nted@east.example" }, {}],
  ["GPS406", { "certificate-authority-data": "QQ==" }, {}],
  ["GPS407", {}, { "tls-server-name": "not a name" }],
];
for (const [code, addressFields, flags] of refused)
  test(`${code}: refuses an address that the controller would refuse: ${JSON.stringify([addressFields, flags])}`, () =>
    assert.throws(
      () =>
        addressFor(
          { ...at("https://east.example"), ...addressFields },
          { ...none, ...flags },
          "east",
        ),
      (error: unknown) =>
        error instanceof Misuse &&
        error.message.startsWith(`${code} --context east: `) &&
        !error.message.includes("pl4nted"),
    ));

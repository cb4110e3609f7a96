/** containerd's own code reads the hosts.toml files that we write. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { directoriesOf } from "#pullsecret/containerd/endpoints.ts";
import { put } from "#pullsecret/containerd/hosts.ts";
import { temporary } from "#test/temporary.ts";
import { build, run } from "./oracle.ts";

type Endpoint = Readonly<{ address: string; capabilities: number; authorization: string }>;

/** The endpoints that containerd tries for each registry, or its error. */
async function ask(root: string, ...registries: readonly string[]): Promise<Endpoint[][]> {
  const output = await run(await build("hosts"), [root, ...registries], "");
  return output
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Endpoint[]);
}

function lay(t: TestContext, directory: string, text: Buffer | string): string {
  const root = temporary(t);
  mkdirSync(join(root, directory));
  writeFileSync(join(root, directory, "hosts.toml"), text);
  return root;
}

const auth = (registry: string) => Buffer.from(`u:${registry}`).toString("base64");
const registries = [
  "a.io",
  "docker.io",
  "port.io:5000",
  "m.io",
  "localhost",
  "localhost:80",
  "localhost:443",
  "localhost:5000",
  "127.0.0.1:5000",
  "[::1]:5000",
  "[2001:db8::1]:5000",
  "10.0.0.1:5000",
];
const credentials = new Map(registries.map((registry) => [registry, auth(registry)]));
const withoutCredential = ({ address }: Endpoint) => address;

for (const registry of registries)
  test(`containerd asks ${registry} first with our credential, then without, at its own address`, async (t) => {
    const made = put(Buffer.alloc(0), registry, credentials, "no directory");
    assert.ok("bytes" in made && made.served);
    const [own = []] = await ask(lay(t, directoriesOf(registry)[0], made.bytes), registry);
    const [before = []] = await ask(lay(t, "other", ""), registry);
    assert.equal(before.length, 1);
    assert.deepEqual(own.map(withoutCredential), [...before, ...before].map(withoutCredential));
    assert.deepEqual(
      own.map(({ authorization }) => authorization),
      [`Basic ${auth(registry)}`, ""],
    );
  });

const [mirror, other] = ["https://m.io", "http://other.io:8080"];
/** The file of a.io, and the addresses that containerd must ask with a credential, and of whom. */
const files: readonly (readonly [text: string, asked: readonly (readonly [string, string])[]])[] = [
  ["", [["https://a.io/v2", "a.io"]]],
  ["server = 'https://a.io'\n", [["https://a.io/v2", "a.io"]]],
  ["server = 'a.io'\n", [["https://a.io/v2", "a.io"]]],
  [`server = "${other}/x/v2"\n`, [[`${other}/x/v2`, "a.io"]]],
  [`server = "${other}/x"\noverride_path = true`, [[`${other}/x`, "a.io"]]],
  [
    `[host."${mirror}"]\n[host."${other}"]\n`,
    [
      ["https://m.io/v2", "m.io"],
      ["https://a.io/v2", "a.io"],
    ],
  ],
  [
    `[host."${other}"]\n[host."${mirror}".header]\nx = "y"\n[host."https://a.io"]\n[z]`,
    [
      ["https://m.io/v2", "m.io"],
      ["https://a.io/v2", "a.io"],
    ],
  ],
  [
    `server = "${mirror}"\ncapabilities = ["pull"]\nskip_verify = true\n[header]\nx = ["y", "z"]\n`,
    [["https://m.io/v2", "a.io"]],
  ],
  [
    `[host.'${mirror}/proxy']\r\n# theirs\r\ndial_timeout = "1s"\r\n[host.'${mirror}/other']`,
    [
      ["https://m.io/proxy/v2", "m.io"],
      ["https://m.io/other/v2", "m.io"],
      ["https://a.io/v2", "a.io"],
    ],
  ],
];
for (const [text, asked] of files)
  test(`containerd reads the file of other programs, and our credentials in it: ${JSON.stringify(text)}`, async (t) => {
    const made = put(Buffer.from(text), "a.io", credentials, { mode: 0o644 });
    assert.ok("bytes" in made && made.served);
    const [own = []] = await ask(lay(t, "a.io", made.bytes), "a.io");
    const withCredential = own.filter(({ authorization }) => authorization !== "");
    assert.deepEqual(
      withCredential.map(({ address, authorization }) => [address, authorization]),
      asked.map(([address, registry]) => [address, `Basic ${auth(registry)}`]),
    );
    // Everything else is as it was, and in the same order.
    const [before = []] = await ask(lay(t, "a.io", text), "a.io");
    const last = before.at(-1)?.address;
    const others = (all: readonly Endpoint[]) =>
      all
        .filter(({ address }, at) => at === all.length - 1 || address !== last)
        .map(({ address, capabilities }) => `${address} ${capabilities}`);
    assert.deepEqual(others(own), others(before));
  });

/** Files because of which containerd uses only the registry's own address. */
const ignored = [
  "[",
  "x = 1\nx = 2\n",
  'capabilities = "pull"\n',
  '[host."https://m.io"]\ncapabilities = ["fly"]\n',
  "ca = 5\n",
  "client = [[1]]\n",
  "skip_verify = 1\n",
  "header = 'x'\n",
  "[header]\nx = 1\n",
  "dial_timeout = 'soon'\n",
  "host = 'x'\n",
  "server = 5\n",
];
for (const text of ignored)
  test(`leaves a file alone that containerd ignores: ${JSON.stringify(text)}`, async (t) => {
    const [own] = await ask(lay(t, "a.io", `${text}[host."https://reader.io"]\n`), "a.io");
    assert.deepEqual(own?.map(withoutCredential), ["https://a.io/v2"]);
    assert.ok(!("bytes" in put(Buffer.from(text), "a.io", credentials, { mode: 0o644 })));
  });

test("containerd uses a registry's directory, and only without one the default", async (t) => {
  const server = 'server = "https://found.io"\n';
  for (const directory of directoriesOf("port.io:5000")) {
    const root = lay(t, directory, server);
    mkdirSync(join(root, "_default"));
    writeFileSync(join(root, "_default/hosts.toml"), 'server = "https://default.io"\n');
    const addresses = async () => (await ask(root, "port.io:5000"))[0]?.map(withoutCredential);
    assert.deepEqual(await addresses(), ["https://found.io/v2"]);
    rmSync(join(root, directory, "hosts.toml"));
    assert.deepEqual(await addresses(), ["https://port.io:5000/v2"]);
    rmSync(join(root, directory), { recursive: true });
    assert.deepEqual(await addresses(), ["https://default.io/v2"]);
  }
});

test("containerd takes a list of directories for one path, so the default of its version 2.2 is not in force", async (t) => {
  const root = lay(t, "a.io", 'server = "https://found.io"\n');
  const [own] = await ask(`${root}:${root}`, "a.io");
  assert.deepEqual(own?.map(withoutCredential), ["https://a.io/v2"]);
});

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { directoriesOf, type Endpoint, endpointsOf, registryOf } from "./endpoints.ts";
import { parted, put } from "./hosts.ts";

const auth = (name: string) => Buffer.from(`u:${name}`).toString("base64");
/** Registry → the address at which containerd asks it, and what it adds on the node itself. */
const addresses: readonly (readonly [registry: string, address: string, fields?: string])[] = [
  ["b.io:5000", "https://b.io:5000"],
  ["localhost.io:5000", "https://localhost.io:5000"],
  ["localhost", "https://localhost", "skip_verify = true\n"],
  ["localhost:5000", "http://localhost:5000", "skip_verify = true\n"],
  ["127.0.0.1:443", "https://127.0.0.1:443", "skip_verify = true\n"],
  ["127.0.0.1:80", "http://127.0.0.1:80"],
  ["[::1]:5000", "http://[::1]:5000", "skip_verify = true\n"],
];
const served = ["a.io", "docker.io", "m.io", ...addresses.map(([registry]) => registry)];
const credentials = new Map(served.map((registry) => [registry, auth(registry)]));
const everyField =
  'ca = "a.crt"\nclient = "c.pem"\nskip_verify = true\noverride_path = true\ndial_timeout = "3s"\n';
const plain = "# Do not edit lines that end with this mark. # global-pull-secret: 644\n";
const lineOf = (registry: string, prefix = "header.") =>
  `${prefix}Authorization = "Basic ${auth(registry)}" # global-pull-secret: ${registry}\n`;

const tableOf = (registry: string, address = `https://${registry}`, fields = "") =>
  `[host."${address}"]\ncapabilities = ["pull","resolve"]\n${fields}`.replaceAll(
    "\n",
    ` # global-pull-secret: ${registry}\n`,
  ) + lineOf(registry);

const rows: readonly (readonly [
  what: string,
  registry: string | undefined,
  theirs: string,
  result: string | RegExp,
])[] = [
  ["an empty file", "a.io", "", tableOf("a.io")],
  ...addresses.map(
    ([registry, ...more]) =>
      [`an empty file of ${registry}`, registry, "", tableOf(registry, ...more)] as const,
  ),
  [
    "a file that names the node itself, which containerd verifies then",
    "localhost:5000",
    'server = "http://localhost:5000"\n',
    `server = "http://localhost:5000"\n${tableOf("localhost:5000", "http://localhost:5000")}`,
  ],
  [
    "a file whose server pulls and pushes, with all its fields, for pulls only",
    "a.io",
    `${everyField}capabilities = ["push","pull","resolve"]\n`,
    `${everyField}capabilities = ["push","pull","resolve"]\n${tableOf("a.io", "https://a.io", everyField)}`,
  ],
  [
    "a file whose server pulls, but does not resolve",
    "a.io",
    'capabilities = ["push","pull"]\n',
    `capabilities = ["push","pull"]\n${tableOf("a.io").replace('["pull","resolve"]', '["pull"]')}`,
  ],
  [
    "an empty file of Docker Hub",
    "docker.io",
    "",
    tableOf("docker.io", "https://registry-1.docker.io"),
  ],
  [
    "a file with an empty server, which containerd ignores",
    "a.io",
    'server = ""\n',
    `server = ""\n${tableOf("a.io")}`,
  ],
  [
    "a file with a server, after a mirror without a credential",
    "a.io",
    'server = "https://s.io/v2"\nca = "ca.crt"\n[host."https://other.io"]\n',
    `server = "https://s.io/v2"\nca = "ca.crt"\n[host."https://other.io"]\n${tableOf("a.io", "https://s.io/v2", 'ca = "ca.crt"\n')}`,
  ],
  [
    "a mirror with its own credential",
    "docker.io",
    '[host."https://m.io"]\n  capabilities = ["pull"]\n',
    `[host."https://m.io"]\n${lineOf("m.io")}  capabilities = ["pull"]\n${tableOf("docker.io", "https://registry-1.docker.io")}`,
  ],
  [
    "the table of the server's address",
    "a.io",
    'server = "http://10.0.0.1:5000"\n[host."http://10.0.0.1:5000"]\nskip_verify = true\n',
    `server = "http://10.0.0.1:5000"\n[host."http://10.0.0.1:5000"]\n${lineOf("a.io")}skip_verify = true\n`,
  ],
  [
    "the table of a server that has a credential of its own, too",
    "a.io",
    '[host."https://m.io"]\n[other]\n[host."https://a.io"]\n',
    `[host."https://m.io"]\n${lineOf("m.io")}[other]\n[host."https://a.io"]\n${lineOf("a.io")}`,
  ],
  [
    "a mirror's table of headers, and copies the server's headers",
    "a.io",
    "[header]\nx = 'y'\n[host.'https://m.io'.header] # theirs\nx = ['y']",
    `[header]\nx = 'y'\n[host.'https://m.io'.header] # theirs\n${lineOf("m.io", "")}x = ['y']\n${tableOf("a.io", "https://a.io", 'header."x" = "y"\n').trimEnd()}`,
  ],
  [
    "a mirror's table of headers that comes after the mirror's table",
    "x.io",
    '[host."https://m.io"]\nskip_verify = true\n[host."https://m.io".header]\nx = "y"\n',
    `[host."https://m.io"]\nskip_verify = true\n[host."https://m.io".header]\n${lineOf("m.io", "")}x = "y"\n`,
  ],
  [
    "a mirror's table of headers that comes before the mirror's table",
    "x.io",
    '[host."https://m.io".header]\nx = "y"\n[host."https://m.io"]\nskip_verify = true\n',
    `[host."https://m.io".header]\n${lineOf("m.io", "")}x = "y"\n[host."https://m.io"]\nskip_verify = true\n`,
  ],
  [
    "a mirror's table that ends the file",
    "x.io",
    '[host."https://m.io"]',
    `[host."https://m.io"]\n${lineOf("m.io").trimEnd()}`,
  ],
  [
    "lines that end with a carriage return",
    "x.io",
    '[host."https://m.io"]\r\n',
    `[host."https://m.io"]\r\n${lineOf("m.io")}`,
  ],
  [
    "the default's mirror",
    undefined,
    '[host."https://m.io"]\n',
    `[host."https://m.io"]\n${lineOf("m.io")}`,
  ],
  ["no line for the default's own server", undefined, "skip_verify = true\n", /^no$/],
  ["no line for a registry without a credential", "x.io", 'server = "https://m.io"\n', /^no$/],
  ["nothing but a mirror of others", "x.io", '[host."https://other.io"]\n', /^no$/],
  ["not a file that is not TOML", "a.io", "server = ", /not TOML/],
  ["not a file that is not UTF-8", "a.io", "# \xff", /not TOML/],
  [
    "not another program's Authorization",
    "a.io",
    "[header]\nauthorization = 'x'\n",
    /Authorization of another/,
  ],
  [
    "not another program's Authorization at the server's address",
    "a.io",
    "[host.'https://a.io'.header]\nauthorization = 'x'\n",
    /Authorization of another/,
  ],
  [
    "a table of another path at the server's address like a mirror",
    "a.io",
    '[host."https://a.io/other"]\n',
    `[host."https://a.io/other"]\n${lineOf("a.io")}${tableOf("a.io")}`,
  ],
  [
    "a header outside of ASCII",
    "a.io",
    '[header]\nx = "\u{e4}\u{20ac}"\n',
    `[header]\nx = "\u{e4}\u{20ac}"\n${tableOf("a.io", "https://a.io", 'header."x" = "\u{e4}\u{20ac}"\n')}`,
  ],
  [
    "not the server's own table that is not asked for tags",
    "a.io",
    "[host.'https://a.io/v2/']\ncapabilities = ['pull']\n",
    /does not pull/,
  ],
  ["not a key in another case", "a.io", 'Server = "https://b.io"\n', /lower case/],
  ["not an escape of TOML 1.1", "a.io", 'x = "\\x41"\n', /not TOML/],
  ["not an inline table of TOML 1.1", "a.io", "x = {\n}\n", /not TOML/],
  ["not a last comma of TOML 1.1", "a.io", "x = {a = 1, }\n", /not TOML/],
  ["not an inline table", "a.io", "host = {'https://m.io' = {}}\n", /unusual/],
  [
    "not a table in a text",
    "a.io",
    'x = """\n[host."https://m.io"]\n"""\n[host]\n"https://m.io" = {}\n',
    /unusual/,
  ],
  ["not a field that containerd cannot decode", "a.io", 'capabilities = "pull"\n', /capabilities/],
  ["not an unknown capability", "a.io", 'capabilities = ["fly"]\n', /capabilities/],
  ["not an address that cannot be read", "a.io", 'server = "https://a b"\n', /address/],
];
for (const [what, registry, theirs, result] of rows)
  test(`puts credentials into ${what}`, () => {
    const before = Buffer.from(theirs, what.includes("not UTF-8") ? "latin1" : "utf8");
    const made = put(before, registry, credentials, { mode: 0o644 });
    if (result instanceof RegExp)
      return assert.match(
        made.why ?? ("bytes" in made && made.bytes === before ? "no" : ""),
        result,
      );
    assert.ok("bytes" in made, made.why);
    const isWhole = result.endsWith("\n");
    assert.equal(made.bytes.toString(), result + (isWhole ? plain : `\n${plain.trimEnd()}`));
    const { theirs: back, origin } = parted(made.bytes);
    assert.equal(back.toString(), theirs);
    assert.deepEqual(origin, { mode: 0o644 });
  });

test("keeps a registry out of a file with another program's Authorization, but serves mirrors there", () => {
  const theirs = '[header]\nAuthorization = "x"\n[host."https://m.io"]\n';
  const made = put(Buffer.from(theirs), "a.io", credentials, "no file");
  assert.ok("bytes" in made && !made.served);
  assert.deepEqual([...parted(made.bytes).credentials.keys()], ["m.io"]);
});

test("remembers what was there before, in whatever order the lines are", () => {
  for (const origin of ["no file", "no directory", { mode: 0o600 }] as const) {
    const made = put(Buffer.of(), "a.io", credentials, origin);
    assert.ok("bytes" in made && made.served);
    const lines = made.bytes.toString().trimEnd().split("\n");
    for (const text of [lines.join("\n"), lines.toReversed().join("\n")])
      assert.deepEqual(parted(Buffer.from(text)), {
        theirs: Buffer.of(),
        credentials: new Map([["a.io", auth("a.io")]]),
        origin,
      });
  }
});

const fragments = [
  'server = "https://a.io"\n',
  '[host."https://m.io"]\n',
  "[host.'http://b.io:5000']\r\n",
  '[host."https://m.io".header]\n',
  "[header]\n",
  'x = "y"\n',
  'capabilities = ["pull", "resolve"]\n',
  '[host."https://registry-1.docker.io"]',
  "\n",
  "# comment",
  "\u{e4}\n",
  "[",
];

test("law: without our lines, every file is what it was, byte for byte", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...fragments), { maxLength: 8 }), (parts) => {
      const theirs = Buffer.from(parts.join(""));
      const made = put(theirs, "a.io", credentials, { mode: 0o640 });
      if (!("bytes" in made)) return;
      assert.deepEqual(parted(made.bytes).theirs, theirs);
      const again = put(parted(made.bytes).theirs, "a.io", credentials, { mode: 0o640 });
      assert.deepEqual(again, made);
    }),
    { seed: 1, numRuns: 2000 },
  );
});

test("law: text around our lines is kept, whatever others write", () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 50 }),
      fc.uint8Array({ maxLength: 50 }),
      (head, tail) => {
        const others = (bytes: Uint8Array) => Buffer.from(bytes.filter((byte) => byte !== 0x23));
        const line = Buffer.from(lineOf("a.io"));
        const [first, last] = [Buffer.concat([others(head), Buffer.from("\n")]), others(tail)];
        const { theirs } = parted(Buffer.concat([first, line, last]));
        assert.deepEqual(theirs, Buffer.concat([first, last]));
      },
    ),
    { seed: 1 },
  );
});

/** For each field: values that containerd decodes, and values that make it ignore the file. */
const fields: Readonly<Record<string, readonly [good: unknown[], bad: unknown[]]>> = {
  capabilities: [
    [[], ["pull", "Resolve", "push", "referrers"]],
    ["pull", ["pull", 1], ["fly"]],
  ],
  ca: [
    ["a.crt", [], ["a.crt", "b.crt"]],
    [1, {}, ["a.crt", 1]],
  ],
  client: [
    ["a.pem", [], ["a.pem", "b.pem"], [["a.crt", "a.key"]], ["b.pem", ["a.crt", "a.key"]]],
    [1, {}, ["a.pem", 1], [[]], [["a.crt"]], [["a.crt", 1]], [["a.crt", "a.key", "b.key"]]],
  ],
  skip_verify: [
    [true, false],
    ["true", 1],
  ],
  override_path: [
    [true, false],
    ["true", 1],
  ],
  dial_timeout: [
    ["", "0", "3s", "1h2m", "1.5ms"],
    [3, "3", "s", ["3s"]],
  ],
  header: [
    [{}, { x: "y" }, { x: ["y", "z"] }],
    ["x", ["x"], { x: 1 }, { x: ["y", 1] }],
  ],
};
for (const [name, [good, bad]] of Object.entries(fields))
  test(`reads exactly the values of ${name} that containerd decodes, also in a mirror's table`, () => {
    const documents = (value: unknown) => [
      { [name]: value },
      { host: { "https://m.io": { [name]: value } } },
    ];
    for (const document of good.flatMap(documents))
      assert.ok(Array.isArray(endpointsOf(document)), JSON.stringify(document));
    for (const document of bad.flatMap(documents))
      assert.equal(endpointsOf(document), `${name} is not what containerd expects`);
  });

/** Capabilities, and whether an endpoint that has them is asked for images and for tags. */
const pulling: readonly (readonly [
  capabilities: readonly string[] | undefined,
  canPull: boolean,
])[] = [
  [undefined, true],
  [[], true],
  [["pull", "resolve"], true],
  [["Resolve", "PULL", "push"], true],
  [["pull"], false],
  [["resolve"], false],
  [["push", "referrers"], false],
  [["pull", "push"], false],
];
for (const [capabilities, canPull] of pulling)
  test(`${canPull ? "takes" : "does not take"} an endpoint with the capabilities ${JSON.stringify(capabilities)} for pulls`, () => {
    const fields = capabilities === undefined ? {} : { capabilities };
    const other = { capabilities: canPull ? ["push"] : ["pull", "resolve"] };
    for (const [document, expected] of [
      [{ ...fields, host: { "m.io": other } }, [canPull, !canPull]],
      [{ ...other, host: { "m.io": fields } }, [!canPull, canPull]],
    ] as const) {
      const endpoints = endpointsOf(document);
      assert.ok(Array.isArray(endpoints));
      assert.deepEqual(
        endpoints.map((endpoint: Endpoint) => endpoint.canPull),
        expected,
      );
    }
  });

test("names a registry's directory as containerd does", () => {
  assert.deepEqual(directoriesOf("a.io"), ["a.io"]);
  assert.deepEqual(directoriesOf("b.io:5000"), ["b.io_5000_", "b.io:5000"]);
  assert.deepEqual(directoriesOf("[::1]:5000"), ["[::1]_5000_", "[::1]:5000"]);
  for (const [directory, registry] of [
    ["a.io", "a.io"],
    ["b.io_5000_", "b.io:5000"],
    ["b.io:5000", "b.io:5000"],
    ["_default", undefined],
  ] as const)
    assert.equal(registryOf(directory), registry);
});

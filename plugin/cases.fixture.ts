/**
 * Command lines and their expected results. The tests of the sources and of the built plugin use
 * them.
 */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { dumpYaml, loadDocuments } from "#kube/yaml.ts";
import { capacity } from "#pullsecret/merge/capacity.ts";
import { call } from "./fake.fixture.ts";
import { readBounded, writePrivate, type Io } from "./terminal/io.ts";

/** The text that `-o json` prints. */
const json = (value: object) => `${JSON.stringify(value, undefined, 2)}\n`;

/** The working directory of all commands. We remove it after the tests. */
export const folder = mkdtempSync(join(tmpdir(), "cli-"));
after(() => rmSync(folder, { recursive: true }));

/** Writes a file into the folder; returns its name. */
export function file(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return name;
}

/**
 * With NODE_COMPILE_CACHE, Node.js stores the compiled sources, so each run takes only a quarter of
 * the time.
 */
export const options = {
  cwd: folder,
  get env() {
    return { ...process.env, NODE_COMPILE_CACHE: join(folder, "compiled") };
  },
};

type Result = Readonly<{ code: number | null; out: string; err: string }>;

/** Runs a command in `folder`. The command reads `input` from standard input. */
export async function run(command: readonly string[], input = ""): Promise<Result> {
  const [program = "", ...argv] = command;
  const child = spawn(program, argv, options);
  let [out, err] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
  // Ignores the error that occurs if the command ends before it has read its input.
  child.stdin.on("error", () => {}).end(input);
  return await new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, out, err }));
  });
}

/**
 * The reason to skip the tests that need a terminal. Their terminal comes from `script` of
 * util-linux. False if `script` is installed.
 */
const noTerminal =
  !spawnSync("script", ["--version"], { encoding: "utf8" }).stdout?.includes("util-linux") &&
  "needs script(1) of util-linux, which provides a terminal";

/**
 * Runs a command on a terminal, and types the keys when the command asks. Returns the exit code and
 * the output.
 */
async function onTerminal(command: readonly string[], keys: string): Promise<Result> {
  const line = command.map((word) => `'${word}'`).join(" ");
  const env = { ...options.env, SHELL: "/bin/sh" };
  const child = spawn("script", ["-qec", line, "/dev/null"], { ...options, env });
  let out = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    const asks = !out.includes("[y/N] ");
    out += text;
    if (asks && out.includes("[y/N] ")) child.stdin.write(keys);
  });
  const [code] = (await once(child, "close")) as [number | null];
  return { code, out: stripVTControlCharacters(out).replaceAll("\r", ""), err: "" };
}

/** A kubeconfig whose API server does not exist. */
const nowhere = file(
  "nowhere.kubeconfig",
  JSON.stringify({
    "current-context": "a",
    contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
    clusters: [{ name: "a", cluster: { server: "https://127.0.0.1:1" } }],
    users: [{ name: "a", user: {} }],
  }),
);

/**
 * Tests that `command` does nothing if a person answers its question with n, Enter, Ctrl-C or
 * Ctrl-D.
 */
export function testRefusals(command: readonly string[], where: string): void {
  for (const [what, keys] of [
    ["n", "n\r"],
    ["Enter", "\r"],
    ["Ctrl-C", "\x03"],
    ["Ctrl-D", "\x04"],
  ] as const)
    test(
      `does nothing and exits with 1 when a person answers ${what}${where}`,
      {
        skip: noTerminal,
      },
      async () => {
        const { code, out } = await onTerminal(
          [...command, "withdraw", "--kubeconfig", nowhere],
          keys,
        );
        assert.match(out, /^Take the pull secret off .*\? \[y\/N\] n?\n+nothing is done\n$/);
        assert.equal(code, 1);
      },
    );
}

/**
 * Runs a command like `run`, but in this process. A new process would need half a second of
 * processor time.
 */
export async function runHere(
  words: readonly string[],
  input = "",
  more: Partial<Io> = {},
): Promise<Result> {
  const before = process.cwd();
  process.chdir(folder);
  try {
    const io = {
      read: (path: string, limit: number) =>
        path === "-"
          ? Promise.resolve(Buffer.from(input).subarray(0, limit + 1))
          : readBounded(path, limit),
      write: writePrivate,
      yaml: (value: unknown) => Promise.resolve(dumpYaml(value)),
      documents: (text: string) => Promise.resolve(loadDocuments(text)),
      ...more,
    };
    return await call(words, { io });
  } finally {
    process.chdir(before);
  }
}

const empty = file("empty-entry.json", '{"auths":{"a.io":{}}}');
const good = file("good.json", '{"auths":{"a.io":{"auth":"dTpw"}}}');
const other = file(
  "other.json",
  '{\n  "auths": {"https://a.io/v1/": {"username": "x", "password": "y"}}\n}\n',
);
const bad = file("bad.json", '{"auths":{"b.io":{"auth":"%%%"},"c.io":{"auth":"bm9jb2xvbg=="}}}');
const secret = file(
  "secret.json",
  '{"kind":"Secret","type":"kubernetes.io/dockerconfigjson","data":{".dockerconfigjson":"e30="}}',
);
/** As kubectl makes it without --type. */
const opaque = file(
  "opaque.yaml",
  `kind: Secret
metadata: {name: a}
data: {.dockerconfigjson: ${btoa('{"auths":{"a.io":{"auth":"dTpw"}}}')}}
`,
);
const mixed = file(
  "mixed.json",
  '{"auths":{"a.io":{"username":"u","password":""},"b.io":{"auth":"%%%"}}}',
);
/** Manifests of kubectl and Helm, which leaves documents empty. */
const manifest = file(
  "manifest.yaml",
  `---
# Source: chart/templates/none.yaml
---
apiVersion: v1
kind: List
items:
- null
- kind: ConfigMap
- kind: Secret
  type: kubernetes.io/dockerconfigjson
  metadata: {name: a}
  data: {.dockerconfigjson: ${btoa('{"auths":{"a.io":{"auth":"dTpw"}}}')}}
---
kind: Secret
type: kubernetes.io/dockerconfigjson
metadata: {name: b}
stringData: {.dockerconfigjson: '{"auths":{"b.io":{"auth":"dTpw"}}}'}
`,
);
/** A list in JSON, as kubectl prints it, with other Secrets beside the pull secret. */
const listed = file(
  "list.json",
  JSON.stringify({
    kind: "List",
    items: [
      { kind: "Secret", metadata: { name: "tls" }, data: { "tls.key": "eA==" } },
      {
        kind: "Secret",
        type: "kubernetes.io/dockerconfigjson",
        metadata: { name: "additional-pull-secret" },
        data: { ".dockerconfigjson": btoa('{"auths":{"a.io":{"auth":"dTpw"}}}') },
      },
    ],
  }),
);
/** A pull secret, one without its document, and one without its type. */
const partial = file(
  "partial.json",
  JSON.stringify({
    kind: "List",
    items: [
      {
        kind: "Secret",
        type: "kubernetes.io/dockerconfigjson",
        metadata: { name: "a" },
        data: { ".dockerconfigjson": btoa('{"auths":{"a.io":{"auth":"dTpw"}}}') },
      },
      { kind: "Secret", type: "kubernetes.io/dockerconfigjson", metadata: { name: "b" } },
      { kind: "Secret", metadata: { name: "c" }, data: { ".dockerconfigjson": "e30=" } },
    ],
  }),
);
const elsewhere = file(
  "elsewhere.json",
  JSON.stringify({
    kind: "Secret",
    type: "kubernetes.io/dockerconfigjson",
    metadata: { name: "additional-pull-secret", namespace: "default" },
    data: { ".dockerconfigjson": btoa('{"auths":{"a.io":{"auth":"dTpw"}}}') },
  }),
);
const untyped = file("untyped.json", '{"kind":"Secret","metadata":{"name":"a"},"data":{"x":""}}');
const endless = file("endless.yaml", "kind: List\nitems: &a [{kind: Secret}, {items: *a}]\n");
const sealed = file("sealed.yaml", "apiVersion: bitnami.com/v1alpha1\nkind: SealedSecret\n");
const browser = file(
  "browser.json",
  '{"auths":{"https://index.docker.io/v1/":{"auth":"dTpw"},"https://index.docker.io/v1/access-token":{"auth":"dTph"},' +
    '"https://index.docker.io/v1/refresh-token":{"auth":"dTpy"},"a.io":{}}}',
);
const patterns = file("patterns.json", '{"auths":{"*.a.io":{"auth":"dTpw"}}}');
const entry = '{"auths":{"a.io":{"auth":"dTpw"}}}';
/**
 * This document alone has the maximum length of all sources together. With any second source, the
 * sum is too long.
 */
const padded = file("padded.json", entry.padEnd(capacity));
const tooLong = file("long.json", entry.padEnd(capacity + 1));
/**
 * This document is short enough as a file. It becomes too long when we write user and password also
 * as `auth`.
 */
const grown = file(
  "grown.json",
  `{"auths":{"a.io":{"username":"u","password":"${"p".repeat(capacity * 0.8)}"}}}`,
);
file("-dash.json", '{"auths":{}}');
symlinkSync("loop.json", join(folder, "loop.json"));

const badLines = (name: string) =>
  [
    `GPS115 ${name}: auths["b.io"].auth: not base64; give base64 of user:password in the standard alphabet, without spaces`,
    `GPS116 ${name}: auths["c.io"].auth: no colon in the decoded text; give base64 of user:password`,
    "",
  ].join("\n");
const newest = '--conflicts "newest": is not one of the choices; give additional, original\n';
const tooMuch =
  "GPS308 sources: document: the sources together, or their merge, are longer than 480 KiB; " +
  "remove entries: both are stored in one Secret, and the API server stores no Secret above 1 MiB\n";
const joinn =
  /^"fleet joinn": is not a command; give (?:fleet \w+, )+fleet \w+; --help lists all\n$/;
const chek = '"chek": is not a command; --help lists all\n';
const onlyFlags = "only flags are given; name a command; --help lists all\n";
const conflictLine =
  'GPS164 additional: auths["a.io"]: differs from the credential in the original; no action needed if intended: the additional\'s is used\n';

/** Command lines that end with the file to add. */
const merge = "merge --show-credentials --additional";
const mergeGood = `merge --show-credentials --original ${good} --additional`;

/**
 * argv (and input), exit code, standard output, standard error. A regular expression checks only a
 * part of the text.
 */
const cases: readonly (readonly [
  argv: string,
  code: number,
  out: string | RegExp,
  err: string | RegExp,
  input?: string,
])[] = [
  [`${merge} ${good}`, 0, '{"auths":{"a.io":{"auth":"dTpw"}}}\n', ""],
  [`${mergeGood} ${other}`, 0, '{"auths":{"a.io":{"auth":"eDp5"}}}\n', conflictLine],
  [`${mergeGood} ${other} --conflicts original`, 0, /"dTpw"/, /the original's is used\n$/],
  [
    `${mergeGood} -`,
    0,
    '{"auths":{"a.io":{"auth":"dTpw"},"b.io":{"auth":"dTpw"}}}\n',
    "",
    '{"auths":{"b.io":{"auth":"dTpw"}}}',
  ],
  [`${mergeGood} ${bad}`, 1, "", badLines("additional")],
  [
    `merge --show-credentials --original ${bad} --additional ${bad}`,
    1,
    "",
    /^(?:GPS\d{3} original: .*\n){2}(?:GPS\d{3} additional: .*\n){2}$/,
  ],
  [
    `${mergeGood} ${other} --protect b.io --protect a.io`,
    1,
    "",
    /^GPS\d{3} additional: auths\["a\.io"\]: .*protected; .*\n$/,
  ],
  [
    `${merge} ${secret}`,
    1,
    "",
    "GPS110 additional: auths: auths is missing; give JSON such as " +
      '{"auths": {"REGISTRY": {"auth": "..."}}}\n',
  ],
  [
    `${merge} /dev/zero`,
    2,
    "",
    "/dev/zero: longer than 16 MiB; give a pull secret, or manifests\n",
  ],
  [`${merge} -`, 1, "", /^GPS\d{3} additional: line 1, column 1: not JSON; .*\n$/],
  [
    `${merge} - --original -`,
    2,
    "",
    /^--additional -: standard input is --original already; .*\n$/,
  ],
  [`${merge} ${good} --protect a.io/*`, 2, "", /^--protect "a\.io\/\*": is not a registry; .*\n$/],
  [
    `merge --show-credentials --original ${good}`,
    2,
    "",
    "--additional: is missing; give the pull secret to add\n",
  ],
  [
    `merge --show-credentials --additionl ${good}`,
    2,
    "",
    /^--additionl: is not a flag; --help names all\n--additional: is missing; .*\n$/,
  ],
  [`${merge}=`, 2, "", '--additional "": is empty; give a file, or - for standard input\n'],
  [`${merge} -dash.json`, 0, '{"auths":{}}\n', ""],
  [
    `merge --show-credentials stray --conflicts newest --additional ${good}`,
    2,
    "",
    `"stray": belongs to no flag; remove it\n${newest}`,
  ],
  [`${merge} ${padded}`, 0, '{"auths":{"a.io":{"auth":"dTpw"}}}\n', ""],
  [`${mergeGood} ${padded}`, 1, "", tooMuch],
  [`${merge} ${grown}`, 1, "", tooMuch],
  [`${merge} nowhere.json`, 2, "", /^nowhere\.json: no such file; .*\n$/],
  ["check loop.json", 2, "", /^loop\.json: cannot be read \(ELOOP\); give a readable file, /],
  [`${merge} .`, 2, "", /^\.: is a directory; .*\n$/],
  [`${merge} ${good}/x`, 2, "", /^good\.json\/x: no such file; .*\n$/],
  [
    `merge --additional ${good}`,
    2,
    "",
    "--output-file: is missing; give a file, or --show-credentials to print credentials\n",
  ],
  [`merge --additional ${good} --output-file -`, 2, "", /^--output-file -: is not a file; /],
  [`merge --additional ${good} --output-file merged.json`, 0, "", ""],
  [`merge --additional ${good} --output-file nowhere/x`, 2, "", /^nowhere\/x: cannot be written /],
  [
    `merge --additional ${good} --output-file ${good}/x`,
    2,
    "",
    /^good\.json\/x: cannot be written \(ENOTDIR\); /,
  ],
  [
    `merge --additional ${good} --output-file x --show-credentials`,
    2,
    "",
    /^--show-credentials: --output-file is given already; /,
  ],
  [`check merged.json`, 0, "accepted: 1 registry\n", ""],
  [`check ${good}`, 0, "accepted: 1 registry\n", ""],
  [
    "check -- -dash.json",
    0,
    "accepted: 0 registries\n",
    /^GPS174 -dash\.json: .*\nexplained by kubectl pull-secret help GPS174\n$/,
  ],
  [
    `check ${bad}`,
    1,
    "",
    `${badLines("bad.json")}explained by kubectl pull-secret help GPS115 GPS116\n`,
  ],
  [
    `check ${browser}`,
    0,
    "accepted: 1 registry\n",
    /^(?:GPS16[67] browser\.json: .* left out; no action needed.*\n){3}explained by kubectl pull-secret help GPS167.*\n$/,
  ],
  [
    `${merge} ${browser}`,
    0,
    '{"auths":{"https://index.docker.io/v1/":{"auth":"dTpw"}}}\n',
    /left out/,
  ],
  [`check -f ${good}`, 0, "accepted: 1 registry\n", ""],
  [
    `check -f ${good} -o json`,
    0,
    /^\{\s+"accepted": true,\s+"problems": \[\],\s+"warnings": \[\],\s+"registries": \[\s+\{\s+"registry": "a\.io"\s+\}\s+\]\s+\}\n$/,
    "",
  ],
  [`check ${good} -f ${bad}`, 2, "", "--file: F is given already; give one of the two\n"],
  [`check ${good} --source a`, 2, "", "--source: names a Secret; leave out the file\n"],
  [
    `check ${patterns} --login`,
    0,
    /\*\.a\.io {2}Unknown {2}a pattern does not name one host\n$/,
    /wildcard|\*/,
  ],
  [
    `check ${bad} -o github`,
    1,
    /^::error file=bad\.json,title=GPS115::bad\.json: auths\["b\.io"\]\.auth: not base64; .*\n::error .*\n$/,
    "",
  ],
  [
    "check - -o github",
    0,
    /^::warning title=GPS174::-: auths: no registries: [^%\n]*\n$/,
    "",
    '{"auths":{}}',
  ],
  [
    `check ${mixed} -o json`,
    1,
    /"code": "GPS115",\s+"source": "mixed\.json",\s+"path": "auths\[\\"b\.io\\"\]\.auth",[^]*"warnings": \[\s+\{\s+"code": "GPS154"/,
    "",
  ],
  [`check ${secret}`, 1, "", /^GPS110 secret\.json: Secret\/-: auths: auths is missing; /],
  [`check ${opaque}`, 1, "", /^GPS301 opaque\.yaml: Secret\/a: type: type is Opaque; /],
  [
    `check ${manifest}`,
    0,
    "accepted: 2 registries\n",
    /^(?:GPS180 manifest\.yaml: Secret\/[ab]: metadata: is not kube-system\/additional-pull-secret, .*\n){2}/,
  ],
  [
    `check ${partial}`,
    1,
    "",
    /GPS\d{3} partial\.json: Secret\/b: .*\nGPS301 partial\.json: Secret\/c: type: type is Opaque; /,
  ],
  [`${merge} ${listed}`, 0, '{"auths":{"a.io":{"auth":"dTpw"}}}\n', ""],
  [`${merge} ${untyped}`, 1, "", /^GPS301 additional: type: /],
  [`explain a.io/x -f ${listed}`, 0, /is pulled with, in this order:\n  1  a\.io  u\n$/, ""],
  [
    `explain a.io/x -f ${elsewhere}`,
    0,
    /in this order:\n  1  a\.io  u\n$/,
    /^GPS180 elsewhere\.json: .*: metadata: is not kube-system\/additional-pull-secret, .*\n$/,
  ],
  [`explain a.io/x -f ${untyped}`, 1, "", /^GPS301 untyped\.json: Secret\/a: type: /],
  [`check ${endless}`, 1, "", /^GPS301 endless\.yaml: Secret\/-: type: type is Opaque; /],
  [`check ${untyped}`, 1, "", /^GPS301 untyped\.json: Secret\/a: type: type is Opaque; /],
  [
    `explain a.io/x -f ${manifest}`,
    2,
    "",
    "manifest.yaml: has 2 pull secrets; give a file with one\n",
  ],
  [
    `check ${sealed}`,
    1,
    "",
    /^GPS135 sealed\.yaml: line 1, column 1: a manifest, but not of a Secret; /,
  ],
  [`check ${padded}`, 0, "accepted: 1 registry\n", ""],
  [`check ${tooLong}`, 1, "", `${tooMuch}explained by kubectl pull-secret help GPS308\n`],
  [`check ${grown}`, 1, "", `${tooMuch}explained by kubectl pull-secret help GPS308\n`],
  [
    "check -",
    0,
    "accepted: 0 registries\n",
    /^GPS174 -: auths: no registries: .*\nexplained by .*\n$/,
    '{"auths":{}}',
  ],
  [
    `explain a.io/x:1 --file ${good} -o json`,
    0,
    json({
      image: "a.io/x:1",
      tries: [{ registry: "a.io", username: "u", order: 1 }],
      ignored: [],
    }),
    "",
  ],
  [
    `explain b.io/x --file ${good} -o json`,
    0,
    json({ image: "b.io/x", tries: [], ignored: [{ registry: "a.io", reason: "another host" }] }),
    "",
  ],
  [`explain a.io/x --file ${good}`, 0, "a.io/x is pulled with, in this order:\n  1  a.io  u\n", ""],
  [`explain a.io/x -f ${empty}`, 0, /\n  1  a\.io  no user name: such a pull is anonymous\n$/, ""],
  [
    `explain nginx --file ${good}`,
    0,
    "nginx is pulled without a credential\nnot tried:\n  -  a.io  another host\n",
    "",
  ],
  [
    `explain b.io/x --file ${bad} -o json`,
    0,
    /"tries": \[\],\s+"ignored": \[\s+\{\s+"registry": "b\.io",\s+"reason": "the kubelet drops the whole file: /,
    /^bad\.json: auths\["b\.io"\]\.auth: not base64; /,
  ],
  [
    "explain b.io/x --file - -o json",
    0,
    json({ image: "b.io/x", tries: [], ignored: [] }),
    /^-: document: not JSON; .*\n$/,
    "junk",
  ],
  [`explain A//b --file ${good}`, 2, "", /^IMAGE: not an image reference; .*\n$/],
  [`explain a.io/x --file ${good} -oyaml`, 0, /^image: a\.io\/x\n/, ""],
  [`explain pod/foo -f ${good}`, 2, "", /^--file: is for an image; .* docker\.io\/pod\/foo if /],
  ["explain pod/Foo", 2, "", /^IMAGE "pod\/Foo": is not the name of an object; /],
  [`explain a.io/x -n shop -f ${good}`, 2, "", "--namespace: an image has none; leave it out\n"],
  [`explain docker.io/pod/foo -f ${good} -o json`, 0, /"image": "docker\.io\/pod\/foo"/, ""],
  [`explain pod/foo:1 -f ${good} -o json`, 0, /"image": "pod\/foo:1"/, ""],
  ["explain", 2, "", /^IMAGE: is missing; .*\n$/],
  ["--help", 0, /^Many clusters:\n {2}fleet +join clusters, .*\n {2}seal /m, ""],
  ["-h", 0, /Exit codes: 0 done/, ""],
  ["help", 0, /Exit codes: 0 done/, ""],
  [
    "merge --help",
    0,
    /^Usage: kubectl pull-secret merge \[flags\]\n[^]* {2}--protect .*; may be repeated\n/,
    "",
  ],
  ["help check", 0, /^Usage: kubectl pull-secret check \[F\] \[flags\]\n/, ""],
  [
    "explain a.io/x -h",
    0,
    /^Usage: kubectl pull-secret explain IMAGE \[flags\]\n[^]* {2}--output, -o .* \[text\]\n/,
    "",
  ],
  ["chek x", 2, "", chek],
  ["help chek", 2, "", chek],
  ["fleet --help", 0, /^Usage: kubectl pull-secret fleet COMMAND\n/, ""],
  ["fleet", 2, "", /^"fleet": needs a second word; give fleet status, .*; --help lists all\n$/],
  ["fleet chek", 2, "", /^"fleet chek": is not a command; give fleet status, .*all\n$/],
  ["help fleet joinn", 2, "", joinn],
  [
    `--original ${good} ${merge}=${other} --conflicts original`,
    0,
    /"dTpw"/,
    /the original's is used\n$/,
  ],
  [`-f=${good} -o=json check`, 0, /^\{\s+"accepted": true/, ""],
  [`--login=false check ${good}`, 0, "accepted: 1 registry\n", ""],
  ["-h check", 0, /^Usage: kubectl pull-secret check \[F\] \[flags\]\n/, ""],
  ["--no-such check -", 2, "", "--no-such: is not a flag; --help names all\n"],
  ["--context east", 2, "", onlyFlags],
  ["-o", 2, "", onlyFlags],
  ["-o json", 2, "", onlyFlags],
  ["status -o", 2, "", "--output: has no value; write --output=VALUE\n"],
  ["--context east chek", 2, "", chek],
  ["-- check", 2, "", /^"--": is not a command; /],
  ["version", 0, /^\d+\.\d+\.\d+ \(Node \d+\.\d+\.\d+\)\n$/, ""],
  ["--version", 0, /^\d+\.\d+\.\d+ \(Node /, ""],
  ["--version -o=json", 0, /^\{\s+"plugin": "\d.*",\s+"node": "\d/, ""],
  ["", 2, "", /^Usage: kubectl pull-secret/],
];

/** One test for each call of `command`. `where` is the end of each test's name. */
export function testCases(command: readonly string[], where: string, by = run): void {
  for (const [argv, code, out, err, input] of cases) {
    test(`H24: \`${argv}\` exits with ${code}${where}`, async () => {
      const result = await by([...command, ...(argv === "" ? [] : argv.split(" "))], input);
      const reported = JSON.stringify(result);
      for (const [expected, actual] of [[out, result.out] as const, [err, result.err] as const]) {
        if (typeof expected === "string") assert.equal(actual, expected, reported);
        else assert.match(actual, expected, reported);
      }
      assert.equal(result.code, code, reported);
    });
  }
}

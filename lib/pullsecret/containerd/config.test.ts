import assert from "node:assert/strict";
import { basename, dirname } from "node:path";
import test from "node:test";
import { hostsDirectory } from "./config.ts";

const images = "[plugins.'io.containerd.cri.v1.images'.registry]\n";
const path = (directory: string) => `${images}config_path = "${directory}"\n`;
const main = "/etc/containerd/config.toml";
const first = "/etc/containerd/conf.d/1.toml";
const second = "/etc/containerd/conf.d/2.toml";
const good = "/etc/containerd/certs.d";

const rows: readonly (readonly [
  what: string,
  files: Readonly<Record<string, string>>,
  result: string | RegExp,
])[] = [
  ["from the file itself", { [main]: `version = 3\n${path(good)}` }, good],
  ["without a last slash", { [main]: `version = 3\n${path(`${good}/`)}` }, good],
  [
    "from an import that matches a pattern",
    {
      [main]: "version = 3\nimports = ['conf.d/*.toml']\n",
      [first]: path(good),
      [`${first}~`]: "[",
    },
    good,
  ],
  [
    "from an import that is named by its letters, not by a regular expression",
    {
      [main]: "version = 3\nimports = ['conf.d/a+.*l']\n",
      "/etc/containerd/conf.d/a+.toml": path(good),
      "/etc/containerd/conf.d/aa.toml": "[",
      "/etc/containerd/conf.d/a+xtoml": "[",
      "/etc/containerd/conf.d/ba+.toml": "[",
    },
    good,
  ],
  [
    "from the last of several imports",
    {
      [main]: `version = 3\nimports = ["/etc/containerd/conf.d/*.toml"]\n${path("/a")}`,
      [second]: path("/c"),
      [first]: `version = 3\n${path("/b")}`,
    },
    "/c",
  ],
  [
    "if an import sets an empty path",
    { [main]: `version = 3\nimports = ["${first}"]\n${path(good)}`, [first]: path("") },
    good,
  ],
  [
    "if imports are circular",
    {
      [main]: `version = 3\nimports = ["${first}"]\n`,
      [first]: `imports = ["../config.toml"]\n${path(good)}`,
    },
    good,
  ],
  ["but not without config_path", { [main]: "version = 3\n" }, /config_path is not set/],
  ["but not from version 2", { [main]: `version = 2\n${path(good)}` }, /not of version 3/],
  ["but not from version 1", { [main]: path(good) }, /not of version 3/],
  [
    "but not with an import of version 2",
    { [main]: `version = 3\nimports = ["${first}"]\n${path(good)}`, [first]: "version = 2" },
    /not of version 3/,
  ],
  [
    "but not a list",
    { [main]: `version = 3\n${path(`${good}:/etc/docker/certs.d`)}` },
    /one directory/,
  ],
  ["but not a relative path", { [main]: `version = 3\n${path("certs.d")}` }, /one directory/],
  ["but not a number", { [main]: `version = 3\n${images}config_path = 1` }, /one directory/],
  ["but not from text that is not TOML", { [main]: "version" }, /not TOML/],
  ...["__proto__ = 1", '"__proto__".a = 1', "[__proto__]", "a = { __proto__ = 1 }"].map(
    (line) =>
      [
        `but not from a file with ${line}, which programs read differently`,
        { [main]: `version = 3\n${path(good)}\n${line}\n` },
        /not TOML/,
      ] as const,
  ),
  [
    "but not from lists within 40 lists",
    { [main]: `version = 3\na = ${"[".repeat(40)}${"]".repeat(40)}\n${path(good)}` },
    /not TOML/,
  ],
  ...["conf.d/[a-z]*.toml", "conf.d/?.toml", "*/a.toml"].map(
    (pattern) =>
      [
        `but not with an import of ${pattern}`,
        { [main]: `version = 3\nimports = ["${pattern}"]\n${path(good)}` },
        /pattern/,
      ] as const,
  ),
  ...["'a'", "1", "[1]", "['a', 1]", "[['a']]", "{ a = 'a' }"].map(
    (imports) =>
      [
        `but not with imports of another type: ${imports}`,
        { [main]: `version = 3\nimports = ${imports}\n${path(good)}` },
        /^imports of .* is not a list of paths/,
      ] as const,
  ),
];
for (const [what, files, result] of rows)
  test(`finds the directory of hosts.toml files ${what}`, () => {
    const found = hostsDirectory(main, {
      read: (file) => Buffer.from(files[file] ?? assert.fail(file)),
      list: (directory) =>
        Object.keys(files)
          .filter((file) => dirname(file) === directory)
          .map((file) => basename(file)),
    });
    if (typeof result === "string") return assert.equal(found, result);
    assert.match(typeof found === "string" ? found : found.why, result);
  });

test("stops at a configuration of more than 100 files", () => {
  for (const imported of [99, 100, 200]) {
    const list = Array.from({ length: imported }, (_, index) => `"${index}.toml"`);
    const text = `version = 3\nimports = [${list.join(",")}]\n${path(good)}`;
    const read = (file: string) => Buffer.from(file === main ? text : "");
    const found = hostsDirectory(main, { read, list: () => [] });
    if (imported < 100) assert.equal(found, good);
    else assert.match(typeof found === "string" ? found : found.why, /more than 100/);
  }
});

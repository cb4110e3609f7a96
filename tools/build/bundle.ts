/**
 * `npm run build` writes minified CommonJS files to dist/. One file starts faster and needs about
 * 13 MiB less memory than the same modules loaded one by one. The files are CommonJS, because
 * write-file-atomic uses __filename. The agent and the users' plugin are separate files. The other
 * programs share one file, programs.cjs, so that the image contains the API client only once.
 */
import { build, type Plugin } from "esbuild";
import {
  chmodSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { codesPage } from "#contract/help.ts";
import { launcher, plugin } from "./launcher.ts";
import { licensesOf } from "./licenses.ts";
import { programs } from "./programs.ts";
import { isCurrent, stampOf } from "./stamp.ts";

type Programs = Readonly<Record<string, string>>;

/** Program → entry point. This program runs on nodes, in our image. */
const onNodes: Programs = { agent: "agent/main.ts" };

/**
 * The programs that use an API server share one file. Each of these programs also has a small file
 * that starts it from the shared file.
 */
const shared: Programs = { programs: "tools/build/programs.ts" };

/**
 * Runs on users' machines, on Node 22.19 or newer. Its syntax is that of Node 20, which can then
 * print that it is too old.
 */
const plugins: Programs = { [plugin]: "plugin/main.ts" };

/**
 * Replacements for modules that dbus-next and pino load, but that we never use. xml2js parses
 * introspection XML, but we only send low-level messages. thread-stream moves logs to another
 * thread, but we write logs synchronously. x11 and the remaining modules serve transports other
 * than a unix socket. With the real modules, esbuild would fail at x11, and the agent would be 90
 * KiB larger.
 */
const unused: Readonly<Record<string, string>> = {
  xml2js: "module.exports = { Parser: class {}, Builder: class {} };",
  "thread-stream": "module.exports = class {};",
  ...Object.fromEntries(
    ["x11", "usocket", "event-stream", "hexy"].map((name) => [
      name,
      `throw new Error("${name} is not bundled");`,
    ]),
  ),
};

const withoutUnused: Plugin = {
  name: "without-unused",
  setup(builder) {
    const names = new RegExp(`^(${Object.keys(unused).join("|")})$`);
    builder.onResolve({ filter: names }, ({ path }) => ({ path, namespace: "unused" }));
    builder.onLoad({ filter: /.*/, namespace: "unused" }, ({ path }) => ({
      contents: unused[path] ?? "",
    }));
  },
};

/** Puts the page of codes into the plugin, because no checkout is beside it. */
const withCodesPage: Plugin = {
  name: "with-codes-page",
  setup(builder) {
    builder.onLoad({ filter: /\/codes-page\.ts$/ }, () => ({
      contents: `const page = ${JSON.stringify(readFileSync(codesPage, "utf8"))};
        export const codesPage = () => page;`,
    }));
  },
};

const bundlePath = (name: string): string => `dist/${name}.cjs`;

export type Bundle = Readonly<{
  path: string;
  /** Folders of the bundled packages, as in package-lock.json. */
  packages: ReadonlySet<string>;
  /** Paths of all files that esbuild read for this bundle. */
  sources: readonly string[];
}>;

/** Bundles every program whose entry point exists; returns the paths of the bundles. */
export async function bundle(): Promise<string[]> {
  return (await bundles()).map(({ path }) => path);
}

/** The file that records the contents of bundles and sources. */
export const stamp = "dist/.made-from";

/**
 * The same as `bundle`, but only if a source has changed, because bundling takes two seconds in
 * each test file that starts agents.
 */
export async function freshBundle(): Promise<string[]> {
  if (!isCurrent(stamp)) return await bundle();
  return Object.keys({ ...onNodes, ...shared, ...plugins }).map(bundlePath);
}

/**
 * The same as `bundle`, but returns what the bundles contain. Also writes the licences and the
 * plugin's launcher.
 */
export async function bundles(): Promise<Bundle[]> {
  const executable = "#!/usr/bin/env node";
  const built = [
    ...(await bundleFor("node24", onNodes)),
    ...(await bundleFor("node24", shared)),
    ...(await bundleFor("node20", plugins, executable)),
  ];
  for (const name of Object.keys(programs))
    replace(bundlePath(name), `require("./programs.cjs").programs["${name}"]();\n`);
  replace(`dist/${plugin}`, launcher, 0o755);
  replace("dist/LICENSES.txt", licensesOf(new Set(built.flatMap((entry) => [...entry.packages]))));
  const sources = new Set(built.flatMap((entry) => [...entry.sources]));
  const others = [
    "package-lock.json",
    codesPage,
    ...globSync("tools/build/*.ts"),
    `dist/${plugin}`,
  ];
  replace(stamp, stampOf([...built.map(({ path }) => path), ...others, ...sources]));
  return built;
}

/**
 * esbuild rewrites syntax that `target` lacks. Tests (test/plugin) find missing library functions.
 */
async function bundleFor(target: string, selected: Programs, firstLine = ""): Promise<Bundle[]> {
  const entries = Object.entries(selected).filter(([, entry]) => existsSync(entry));
  const { outputFiles, metafile } = await build({
    entryPoints: Object.fromEntries(entries),
    outdir: "dist",
    write: false,
    metafile: true,
    outExtension: { ".js": ".cjs" },
    bundle: true,
    minify: true,
    keepNames: false,
    platform: "node",
    format: "cjs",
    target,
    banner: { js: firstLine },
    legalComments: "none",
    logLevel: "warning",
    plugins: [withoutUnused, withCodesPage],
  });
  mkdirSync("dist", { recursive: true });
  const mode = firstLine === "" ? 0o644 : 0o755;
  for (const { path, contents } of outputFiles) replace(path, contents, mode);
  return entries.map(([name]) => {
    const path = bundlePath(name);
    const inputs = Object.entries(metafile.outputs[path]?.inputs ?? {});
    const used = inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0);
    const packages = new Set(used.flatMap(([input]) => packageOf(input) ?? []));
    return { path, packages, sources: Object.keys(metafile.inputs).filter(existsSync) };
  });
}

/**
 * Writes a new file and renames it, because a test can start a bundle while another test writes
 * this bundle.
 */
function replace(path: string, contents: string | Uint8Array, mode = 0o644): void {
  const staged = `${path}.${process.pid}`;
  writeFileSync(staged, contents);
  chmodSync(staged, mode);
  renameSync(staged, path);
}

/** The folder of a file's package, such as `node_modules/a/node_modules/@b/c`. */
function packageOf(input: string): string | undefined {
  return /node_modules\/(?:.*\/node_modules\/)?(?:@[^/]+\/)?[^/]+/.exec(input)?.[0];
}

if (import.meta.main) await bundle();

/** Files that decide must be free of effects. This file finds effects that they reach. */

/**
 * Files that decide. They must load nothing that uses a file system, socket, clock, process or
 * client.
 */
const pure: readonly string[] = [
  "lib/contract",
  "lib/pullsecret",
  "lib/kube/kubeconfig",
  "lib/api",
  "agent/facts",
  "agent/decide",
  "controller/rollout/facts.ts",
  "controller/rollout/decide.ts",
  "controller/rollout/evidence.ts",
  "controller/rollout/publish.ts",
  "controller/rollout/release.ts",
  "controller/rollout/upgrade.ts",
  "controller/rollout/view.ts",
  "controller/rollout/waits.ts",
  "controller/rollout/window.ts",
  "controller/status/messages.ts",
  "controller/status/outcome.ts",
  "controller/status/nodes.ts",
  "controller/status/sources.ts",
  "controller/status/summary.ts",
  "controller/status/status.ts",
  "fleet/rules",
  "fleet/transport",
  "tenants/rules",
];

/** Modules of Node.js and packages that pure code is allowed to load. They only compute. */
const pureModules = new Set([
  "node:buffer",
  "node:path",
  "node:path/posix",
  "node:util",
  "smol-toml",
  "zod",
  "zod/mini",
]);

/**
 * Functions of other modules that pure code is allowed to use: of node:net the functions that only
 * parse text, of node:crypto the functions without randomness.
 */
const pureNames: Readonly<Record<string, RegExp>> = {
  "node:net": /^\{\s*isIP(?:v[46])?\s*\}$/,
  "node:crypto": /^\{(?:\s*(?:createHash|createPrivateKey|X509Certificate),?)+\s*\}$/,
};

/** Effects that need no import: clock, timers, randomness, the process and the network. */
const effects =
  /\b(?:Date\.now|new Date\(\)|performance\.|process\.|Math\.random|fetch\(|set(?:Timeout|Interval|Immediate)\b)/;

export const isPure = (path: string): boolean =>
  pure.some((entry) => path === entry || path.startsWith(`${entry}/`));

type Loaded = Readonly<{ specifier: string; names: string }>;

export const isPureImport = ({ specifier, names }: Loaded): boolean =>
  pureModules.has(specifier) || pureNames[specifier]?.test(names) === true;

const pureHead = /^\/\*\*(?:(?!\*\/)[^])*\bPure\b/;

/**
 * True for a file whose header claims that it is pure. Such a file is checked too, but not the
 * files that it loads.
 */
export const declaresPure = (source: string): boolean => pureHead.test(source);

/** A source without its comments. */
const codeOf = (source: string): string => source.replaceAll(/\/\*[^]*?\*\/|(?<=^|\s)\/\/.*/gm, "");

/** An effect that the source has without an import; undefined if there is none. */
export const effectOf = (source: string): string | undefined => effects.exec(codeOf(source))?.[0];

type Known = Readonly<{
  /** The imports of each file: our own paths, and names of modules with effects. */
  loads: ReadonlyMap<string, readonly string[]>;
  /** File → its effect that needs no import. Files without such an effect are absent. */
  uses: ReadonlyMap<string, string>;
  isOurs: (target: string) => boolean;
}>;

/** The path from a file to an effect, along its imports; undefined if there is none. */
export function effectIn(
  file: string,
  graph: Known,
  seen = new Set<string>(),
): readonly string[] | undefined {
  const { loads, uses, isOurs } = graph;
  const used = uses.get(file);
  if (used !== undefined) return [used];
  for (const target of loads.get(file) ?? []) {
    if (!isOurs(target)) return [target];
    if (seen.has(target)) continue;
    seen.add(target);
    const further = effectIn(target, graph, seen);
    if (further !== undefined) return [target, ...further];
  }
  return undefined;
}

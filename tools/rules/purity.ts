/** Which files decide, and what of the world outside they reach, which is a mistake. */

/** What decides: whatever it loads reaches no file system, socket, clock, process or client. */
const pure: readonly string[] = [
  "lib/contract",
  "lib/pullsecret",
  "lib/kube/kubeconfig",
  "lib/api",
  "agent/facts",
  "agent/restart",
  "agent/decide",
  "controller/rollout/facts.ts",
  "controller/rollout/node-state.ts",
  "controller/rollout/survey.ts",
  "controller/rollout/halt.ts",
  "controller/rollout/budget.ts",
  "controller/rollout/decide.ts",
  "controller/status/troubles.ts",
  "controller/status/nodes.ts",
  "controller/status/sources.ts",
  "controller/status/summary.ts",
  "controller/status/status.ts",
  "fleet/rules",
  "fleet/transport",
  "tenants/rules",
];

/** What code that decides may load of Node and of packages: it computes, and touches nothing. */
const pureModules = new Set(["node:buffer", "node:path", "node:util", "zod", "zod/mini"]);

/** Of a module with sockets, functions that only read text; of one with chance, those without. */
const pureNames: Readonly<Record<string, RegExp>> = {
  "node:net": /^\{\s*isIP(?:v[46])?\s*\}$/,
  "node:crypto": /^\{(?:\s*(?:createHash|createPrivateKey|X509Certificate),?)+\s*\}$/,
};

/** What needs no import: clock, timers, chance, the process and the network. */
const effects =
  /\b(?:Date\.now|new Date\(\)|performance\.|process\.|Math\.random|fetch\(|set(?:Timeout|Interval|Immediate)\b)/;

export const isPure = (path: string): boolean =>
  pure.some((one) => path === one || path.startsWith(`${one}/`));

type Loaded = Readonly<{ specifier: string; names: string }>;

export const isPureImport = ({ specifier, names }: Loaded): boolean =>
  pureModules.has(specifier) || pureNames[specifier]?.test(names) === true;

const pureHead = /^\/\*\*(?:(?!\*\/)[^])*\bPure\b/;

/** True for a file that says so of itself: it is held to it as well, without what it loads. */
export const saysPure = (source: string): boolean => pureHead.test(source);

/** A source without its comments. */
const codeOf = (source: string): string => source.replaceAll(/\/\*[^]*?\*\/|(?<=^|\s)\/\/.*/gm, "");

/** An effect that the source has without an import; undefined if there is none. */
export const effectOf = (source: string): string | undefined => effects.exec(codeOf(source))?.[0];

type Known = Readonly<{
  /** What each file loads: paths of ours, and names of modules with effects. */
  loads: ReadonlyMap<string, readonly string[]>;
  /** Which files have an effect that needs no import. */
  uses: ReadonlyMap<string, string>;
  isOurs: (target: string) => boolean;
}>;

/** The way from a file to an effect, along what it loads; undefined if there is none. */
export function effectIn(
  file: string,
  known: Known,
  seen = new Set<string>(),
): readonly string[] | undefined {
  const { loads, uses, isOurs } = known;
  const used = uses.get(file);
  if (used !== undefined) return [used];
  for (const target of loads.get(file) ?? []) {
    if (!isOurs(target)) return [target];
    if (seen.has(target)) continue;
    seen.add(target);
    const further = effectIn(target, known, seen);
    if (further !== undefined) return [target, ...further];
  }
  return undefined;
}

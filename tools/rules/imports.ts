/**
 * Which folder may import which. A folder imports only folders before it in the order, so no two
 * folders need each other. Code that ships imports nothing from build/, tools/, test/ or bench/.
 */
import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { cyclesIn } from "./cycles.ts";
import { effectIn, effectOf, isPure, isPureImport, saysPure } from "./purity.ts";

/** The folders that ship, each after those that it may import; `.` is the folder itself. */
const order: readonly string[] = [
  "contract: . joined",
  "pullsecret: problems json registry document kubelet merge provider .",
  "kube: kubeconfig client . watch lease apply",
  "program: .",
  "api: .",
  "agent: config files systemd journal delivery delivery/config-json delivery/provider facts restart decide observe report .",
  "controller: policy objects sources rollout withdrawal status .",
  "fleet: rules transport inventory .",
  "sync: rules . tenant management",
  "cli: terminal login cluster document clusters joining seal show pods removal bundle completion commands/see commands/change commands/steer commands/clusters commands/local .",
].flatMap((line) => {
  const [top = "", ...folders] = line.split(/:? /);
  return folders.map((one) => (one === "." ? top : `${top}/${one}`));
});

/** Programs: they meet in contract/, pullsecret/, kube/ and api/ only. */
const programs: ReadonlySet<string> = new Set(["agent", "controller", "fleet", "sync", "cli"]);

/** Programs that reach no API server. */
const withoutCluster: ReadonlySet<string> = new Set(["agent"]);

/** Package → the rooms that alone may import its values. */
const packageRooms: Readonly<Record<string, readonly string[]>> = {
  "@kubernetes/client-node": ["kube"],
  "js-yaml": ["kube"],
  "dbus-next": ["agent/systemd"],
  chokidar: ["agent/files"],
  "write-file-atomic": ["agent/files"],
};

type Import = Readonly<{ specifier: string; names: string; typeOnly: boolean }>;

const importPattern =
  /(?:^|\n)\s*(?:import|export)\s(type\s)?([^;]*?)\s*from\s+"([^"]+)"|import\("([^"]+)"\)|(?:^|\n)import\s+"([^"]+)"/g;

/** The imports and re-exports of a TypeScript source. */
export function importsOf(source: string): Import[] {
  return [...source.matchAll(importPattern)].map(([, type, names, from, dynamic, bare]) => ({
    specifier: from ?? dynamic ?? bare ?? "",
    names: names ?? "",
    typeOnly: type !== undefined,
  }));
}

/** Every import that a shipped file may not make, as `file: what`, and every cycle of files. */
export function checkImports(root: string): string[] {
  const violations: string[] = [];
  const graph = new Map<string, readonly string[]>();
  const loads = new Map<string, readonly string[]>();
  const uses = new Map<string, string>();
  const pure = new Set<string>();
  for (const top of new Set(order.map(topOf))) {
    for (const file of globSync(`${top}/**/*.ts`, { cwd: root })) {
      const source = readFileSync(join(root, file), "utf8");
      const imports = importsOf(source);
      for (const one of imports) {
        const problem = judge(file, one);
        if (problem !== undefined) violations.push(`${file}: ${problem}`);
      }
      if (isTest(file)) continue;
      if (saysPure(source)) pure.add(file);
      const effect = effectOf(source);
      if (effect !== undefined) uses.set(file, effect);
      graph.set(file, imports.map((one) => targetOf(file, one)).filter(isOurs));
      const values = imports.filter((one) => !one.typeOnly && !isPureImport(one));
      loads.set(
        file,
        values.map((one) => targetOf(file, one)),
      );
    }
  }
  for (const file of graph.keys()) {
    const direct = (loads.get(file) ?? []).filter((target) => !isOurs(target));
    const reached = isPure(file)
      ? effectIn(file, { loads, uses, isOurs })
      : pure.has(file)
        ? effectIn(file, { loads: new Map([[file, direct]]), uses, isOurs })
        : undefined;
    if (reached !== undefined)
      violations.push(`${file}: decides, but reaches ${reached.join(" → ")}`);
  }
  const cycles = cyclesIn(graph).map((cycle) => `${cycle.join(" → ")}: a cycle`);
  return [...violations, ...cycles];
}

const topOf = (path: string): string => path.split("/")[0] ?? "";
const isOurs = (target: string): boolean => order.includes(topOf(target));
const isTest = (file: string): boolean => /\.(?:test|fixture)\.ts$/.test(file);
/** Path of the imported file; a package or a module of Node as it is called. */
function targetOf(file: string, { specifier }: Import): string {
  if (specifier.startsWith("#")) return specifier.slice(1);
  return specifier.startsWith(".") ? join(dirname(file), specifier) : specifier;
}

function judge(file: string, one: Import): string | undefined {
  const { specifier, typeOnly } = one;
  const target = targetOf(file, one);
  if (!specifier.startsWith(".") && !specifier.startsWith("#")) {
    if (typeOnly || isTest(file)) return undefined;
    const rooms = packageRooms[specifier];
    if (rooms === undefined || rooms.some((room) => `${file}/`.startsWith(`${room}/`)))
      return undefined;
    return `imports ${specifier}, which belongs to ${rooms.join(" and ")}`;
  }
  if (target === "package.json") return undefined;
  if (specifier.startsWith("../../")) return `imports ${specifier}; begin with #${topOf(target)}/`;
  if (isTest(target) && !isTest(file)) return `imports ${target}, which only tests may`;
  if (isTest(file) && (topOf(target) === "test" || topOf(target) === topOf(file))) return undefined;
  return isOurs(target) ? judgeRooms(file, target) : `imports from ${topOf(target)}/`;
}

function judgeRooms(file: string, target: string): string | undefined {
  const [from, to] = [dirname(file), dirname(target)];
  if (!order.includes(from)) return `${from}/ is not in the order of folders; add it there`;
  const apart = programs.has(topOf(file)) && programs.has(topOf(target));
  if (apart && topOf(file) !== topOf(target))
    return `imports from ${topOf(target)}/, another program`;
  if (withoutCluster.has(topOf(file)) && topOf(target) === "kube")
    return "imports from kube/, but reaches no API server";
  if (order.indexOf(to) > order.indexOf(from)) return `imports from ${to}/, which comes after it`;
  return undefined;
}

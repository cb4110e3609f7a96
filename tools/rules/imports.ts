/**
 * The imports that are allowed between folders. Each folder imports only folders before it in the
 * order, therefore no two folders import each other. Shipped code imports nothing from tools/,
 * test/ or bench/.
 */
import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { cyclesIn } from "./cycles.ts";
import { effectIn, effectOf, isPure, isPureImport, declaresPure } from "./purity.ts";

/** The shipped folders, each after the folders that it can import; `.` is the folder itself. */
const order: readonly string[] = [
  "lib/contract: .",
  "lib/pullsecret: problems json registry document kubelet merge containerd .",
  "lib/registry: .",
  "lib/kube: kubeconfig client . watch apply",
  "lib/runtime: .",
  "lib/api: .",
  "agent: files api systemd journal delivery delivery/config-json delivery/provider delivery/runtime facts decide observe report .",
  "controller: policy objects sources rollout withdrawal status .",
  "fleet: rules transport inventory .",
  "tenants: rules .",
  "plugin: terminal cluster document clusters joining seal show pods removal bundle completion commands/fleet commands .",
].flatMap((line) => {
  const [top = "", ...folders] = line.split(/:? /);
  return folders.map((folder) => (folder === "." ? top : `${top}/${folder}`));
});

const topOf = (path: string): string => path.split("/")[0] ?? "";
const tops: ReadonlySet<string> = new Set(order.map(topOf));

/** Programs. They share code only in lib/. */
const programs: ReadonlySet<string> = new Set([
  "agent",
  "controller",
  "fleet",
  "tenants",
  "plugin",
]);

/**
 * Programs that have their own API client, because the client library would double their memory.
 */
const withOwnClient: ReadonlySet<string> = new Set(["agent"]);

/**
 * Package → the only folders that are allowed to import its values. No other package is allowed.
 * zod has two, because each checks a form of its own.
 */
const packageRooms: Readonly<Record<string, readonly string[]>> = {
  "@kubernetes/client-node": ["lib/kube"],
  "js-yaml": ["lib/kube"],
  pino: ["lib/runtime"],
  "prom-client": ["lib/runtime"],
  "dbus-next": ["agent/systemd"],
  chokidar: ["agent/files"],
  "write-file-atomic": ["agent/files"],
  "smol-toml": ["lib/pullsecret/containerd"],
  "zod/mini": ["agent/journal", "lib/kube"],
};

const names: Readonly<Record<string, string>> = manifest.imports;
/** The prefix for an import of a file two or more folders up, such as `#kube/`. */
const nameOf = (path: string): string =>
  Object.entries(names)
    .find(([, folder]) => path.startsWith(folder.slice(2, -1)))?.[0]
    .slice(0, -1) ?? `#${topOf(path)}/`;

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

/** All forbidden imports of shipped files, as `file: what`, and all cycles of files. */
export function checkImports(root: string): string[] {
  const violations: string[] = [];
  const graph = new Map<string, readonly string[]>();
  const loads = new Map<string, readonly string[]>();
  const uses = new Map<string, string>();
  const pure = new Set<string>();
  for (const top of tops) {
    for (const file of globSync(`${top}/**/*.ts`, { cwd: root })) {
      const source = readFileSync(join(root, file), "utf8");
      const imports = importsOf(source);
      for (const imported of imports) {
        const problem = violationOf(file, imported);
        if (problem !== undefined) violations.push(`${file}: ${problem}`);
      }
      if (isTest(file)) continue;
      if (declaresPure(source)) pure.add(file);
      const effect = effectOf(source);
      if (effect !== undefined) uses.set(file, effect);
      graph.set(file, imports.map((imported) => targetOf(file, imported)).filter(isOurs));
      const values = imports.filter((imported) => !imported.typeOnly && !isPureImport(imported));
      loads.set(
        file,
        values.map((imported) => targetOf(file, imported)),
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

/** `#kube/x.ts` → `lib/kube/x.ts`, by package.json. */
const named = (specifier: string): string =>
  specifier.replace(/^#[^/]+\//, (name) => names[`${name}*`]?.slice(2, -1) ?? name.slice(1));
const isOurs = (target: string): boolean => tops.has(topOf(target));
const isTest = (file: string): boolean => /\.(?:test|fixture)\.ts$/.test(file);
/** Path of the imported file, or name of the package or of Node's module. */
function targetOf(file: string, { specifier }: Import): string {
  if (specifier.startsWith("#")) return named(specifier);
  return specifier.startsWith(".") ? join(dirname(file), specifier) : specifier;
}

function violationOf(file: string, imported: Import): string | undefined {
  const { specifier, typeOnly } = imported;
  const target = targetOf(file, imported);
  if (!specifier.startsWith(".") && !specifier.startsWith("#")) {
    if (typeOnly || isTest(file)) return undefined;
    if (specifier.startsWith("node:")) return undefined;
    const rooms = packageRooms[specifier];
    if (rooms === undefined) return `imports ${specifier}, which has no folder here`;
    if (rooms.some((room) => file.startsWith(`${room}/`))) return undefined;
    return `imports ${specifier}, which belongs to ${rooms.join(" and ")}`;
  }
  if (target === "package.json") return undefined;
  if (specifier.startsWith("../../")) return `imports ${specifier}; begin with ${nameOf(target)}`;
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
  if (withOwnClient.has(topOf(file)) && target.startsWith("lib/kube/"))
    return "imports from kube/, but has a client of its own";
  if (order.indexOf(to) > order.indexOf(from)) return `imports from ${to}/, which comes after it`;
  return undefined;
}

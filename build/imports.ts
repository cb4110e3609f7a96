/**
 * Which room may import which. The credential passes pullsecret → controller → agent; the two programs
 * meet only in pullsecret/ and contract/, and nothing that ships imports from build/, test/ or bench/.
 */
import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

/** Room → rooms it may import besides itself. A room that is not listed may import anything. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  pullsecret: ["contract"],
  agent: ["contract", "pullsecret"],
  controller: ["contract", "pullsecret"],
  cli: ["contract", "pullsecret"],
};

/** Room → packages that it alone may import; every package is behind one room's small file. */
const packageRooms: Readonly<Record<string, readonly string[]>> = {
  "@kubernetes/client-node": ["controller", "cli"],
  "dbus-next": ["agent"],
  chokidar: ["agent"],
  "write-file-atomic": ["agent"],
};

const importPattern =
  /(?:^|\n)\s*(?:import|export)\s[^;]*?from\s+"([^"]+)"|import\("([^"]+)"\)|(?:^|\n)import\s+"([^"]+)"/g;

/** Every file of the shipped rooms that imports what it may not, as `file: what`. Tests may import test/ as well. */
export function checkImports(root: string): string[] {
  const violations: string[] = [];
  for (const room of Object.keys(allowed)) {
    for (const file of globSync(`${room}/**/*.ts`, { cwd: root })) {
      for (const specifier of importsOf(readFileSync(join(root, file), "utf8"))) {
        const problem = judge(file, room, specifier);
        if (problem !== undefined) violations.push(`${file}: ${problem}`);
      }
    }
  }
  return violations;
}

/** The module specifiers that a TypeScript source imports or re-exports from. */
export function importsOf(source: string): string[] {
  return [...source.matchAll(importPattern)].map((match) => match[1] ?? match[2] ?? match[3] ?? "");
}

function judge(file: string, room: string, specifier: string): string | undefined {
  if (!specifier.startsWith(".")) {
    const rooms = packageRooms[specifier];
    if (rooms === undefined || rooms.includes(room)) return undefined;
    return `imports ${specifier}, which belongs to ${rooms.join(" and ")}`;
  }
  const target = relative(".", join(dirname(file), specifier)).split("/")[0] ?? "";
  // Where the version stands.
  if (target === room || target === "package.json" || allowed[room]?.includes(target)) return undefined;
  if (target === "test" && file.endsWith(".test.ts")) return undefined;
  return `imports from ${target}/, which ${room}/ may not`;
}

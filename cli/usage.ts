/** What `kubectl pull-secret` alone tells. */
import { exampleOf, groups, type Command } from "./terminal/command.ts";

/** The commands by their groups, a line each. */
export function usageOf(commands: Readonly<Record<string, Command>>): string {
  const rows = Object.entries(commands);
  const width = Math.max(...rows.map(([name]) => name.length));
  const lists = Object.entries(groups).map(([group, title]) => {
    const own = rows.filter(([, one]) => one.group === group);
    return `${title}:\n${own.map(([name, { what }]) => `  ${name.padEnd(width)} ${what}\n`).join("")}`;
  });
  return `Usage: kubectl pull-secret COMMAND

Shows, changes and steers the pull secret that every node of a cluster has.

${lists.join("\n")}
COMMAND --help tells its flags and an example, such as
  ${exampleOf("wait", { example: "--timeout 5m" })}
A file may be - for standard input. No command prints a password.
Exit codes: 0 done, perhaps with warnings; 1 refused, or failed; 2 the command line is wrong or a
file unreadable; 3 not yet, in the time that was given.
`;
}

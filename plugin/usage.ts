/** Makes the help of `kubectl pull-secret` and of its groups of commands. */
import { exampleOf, groups, type Command } from "./terminal/command.ts";

/**
 * The commands by group, with a line for each command. With `first`, only the commands whose names
 * begin with this word. Undefined if there are no such commands.
 */
export function usageOf(
  commands: Readonly<Record<string, Command>>,
  first: string,
): string | undefined {
  const rows = Object.entries(commands).filter(
    ([name]) => first === "" || name.startsWith(`${first} `),
  );
  if (rows.length === 0) return undefined;
  const width = Math.max(...rows.map(([name]) => name.length));
  const lists = Object.entries(groups).flatMap(([group, title]) => {
    const own = rows.filter(([, one]) => one.group === group);
    const lines = own.map(([name, { what }]) => `  ${name.padEnd(width)} ${what}\n`);
    return own.length === 0 ? [] : [`${title}:\n${lines.join("")}`];
  });
  if (first !== "") return `Usage: kubectl pull-secret ${first} COMMAND\n\n${lists.join("\n")}`;
  return `Usage: kubectl pull-secret COMMAND

Shows, changes, pauses and withdraws the pull secret that every node of a cluster has.

${lists.join("\n")}
COMMAND --help shows its flags and an example, such as
  ${exampleOf("wait", { example: "--timeout 5m" })}
A file may be - for standard input. Only merge --show-credentials prints credentials.
Exit codes: 0 done, perhaps with warnings; 1 refused, or failed; 2 the command line is wrong or a
file cannot be read; 3 not done in the given time.
`;
}

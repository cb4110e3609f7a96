/**
 * docs/reference/plugin.md: commands and flags of `kubectl pull-secret`, from its command table.
 */
import { commands } from "#plugin/commands.ts";
import { rowOf, type Flag, type Table } from "#contract/table.ts";
import { clusterFlags } from "#plugin/cluster/flags.ts";
import { groups, help, type Command } from "#plugin/terminal/command.ts";
import { outputFlag } from "#plugin/terminal/output.ts";
import { table, type Row } from "./markdown.ts";

export function plugin(): string {
  const parts = Object.entries(groups).map(([group, title]) => {
    const own = Object.entries(commands).filter(([, command]) => command.group === group);
    const each = own.map(
      ([name, command]) =>
        `### ${name}\n\n\`\`\`\n${help(name, command, ownFlags(command)).trimEnd()}\n\`\`\`\n`,
    );
    return `## ${title}\n\n${each.join("\n")}`;
  });
  return `${intro}\n${sharedTable()}\n${parts.join("\n")}`;
}

const common = { ...clusterFlags, ...outputFlag };

/** A flag of one command. */
type Use = Readonly<{ name: string; flag: Flag; command: string }>;

const uses: readonly Use[] = Object.entries(commands).flatMap(([command, { flags }]) =>
  Object.entries(flags).map(([name, flag]) => ({ name, flag, command })),
);

/** Flags with the same name, meaning and default → their uses, if there are several. */
const shared = new Map(
  [...Map.groupBy(uses, ({ name, flag }) => keyOf(name, flag))].filter(
    ([, same]) => same.length > 1,
  ),
);

/** What must be the same in the flags of several commands for one row of the table. */
function keyOf(name: string, { what, standard, required }: Flag): string {
  return JSON.stringify([name, what, standard, required]);
}

/** The command's flags, without those in the table. */
function ownFlags({ flags }: Command): Table {
  const own = Object.entries(flags).filter(([name, flag]) => !shared.has(keyOf(name, flag)));
  return Object.fromEntries(own);
}

/** A row for each flag of several commands. */
function sharedTable(): string {
  const rows = [...shared.values()].flatMap((same): readonly Row[] => {
    const [use] = same;
    if (use === undefined) return [];
    const [title, meaning] = rowOf(use.name, use.flag);
    const users = Object.hasOwn(common, use.name) ? ["most"] : same.map(({ command }) => command);
    return [[`\`${title}\``, meaning, users.join(", ")]];
  });
  return `${table(["Flag of several commands", "Meaning", "Commands"], rows)}\n`;
}

const intro = `# kubectl pull-secret

After this page you can run every command of the plugin, and use its output in scripts.

\`npm run build\` makes \`dist/kubectl-pull_secret\`. kubectl finds it when \`dist\` is on your \`PATH\`:

\`\`\`sh
export PATH="$PWD/dist:$PATH"
kubectl pull-secret version
\`\`\`

It starts the bundle \`dist/kubectl-pull_secret.cjs\` with the Node that npm installed in the
checkout. On another machine, copy the bundle to \`kubectl-pull_secret\` on the \`PATH\`. It
needs Node 22.19 or newer.
A release has archives for Linux on amd64 and arm64 that bring their own Node, one archive for every
machine with a Node, and a manifest for krew:
\`kubectl krew install --manifest=pull-secret.yaml --archive=kubectl-pull_secret-VERSION-linux-amd64.tar.gz\`.

Commands that reach a cluster use your kubeconfig and its rights. Commands that only show something
need no right on Secrets, except \`check\` without a file, and \`history\`. \`add\`, \`remove\`, \`apply\` and
\`undo\` need get, create and patch on the source's Secret, and \`remove\` also delete. The dry run of \`preflight\` needs
create and patch on Secrets, ServiceAccounts, DaemonSets and pods of kube-system, and stores nothing.

| Exit code | Meaning |
| --- | --- |
| 0 | done, perhaps with warnings on standard error |
| 1 | refused or failed; standard error gives the reason and the next step |
| 2 | the command line is wrong, or a file cannot be read |
| 3 | not complete within \`--timeout\` |

Only \`merge --show-credentials\` prints credentials. Commands that remove credentials from nodes
ask first. Colours are for terminals only; \`NO_COLOR\` and
\`TERM=dumb\` disable them.

With \`-o json\` or \`yaml\`, \`check\` prints \`{accepted, problems, warnings, registries}\`. Problems and
warnings are lists of \`{code, source, path, message, next}\`. Registries is a list of
\`{registry, answer, why}\`, of which the last two exist only with \`--login\`. With \`--image\`, images is a
list of \`{image, answer, why}\`. \`uninstall\` prints \`{deleted, kept}\`.
\`history\` prints a list of \`{state, time, registries, difference}\`, of which the last exists in all rows but the
last.

\`check --login\` follows [the controller's rules](../../SECURITY.md#what-leaves-the-cluster). The answer
is \`Accepted\`, \`Denied\` (401, or 403 to the credential) or \`Unknown\`. Only \`--image\` finds a token that may log in, but not pull.
`;

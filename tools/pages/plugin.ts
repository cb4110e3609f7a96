/**
 * docs/reference/plugin.md: commands and flags of `kubectl pull-secret`, from the table of its
 * commands.
 */
import { commands } from "#plugin/commands.ts";
import { groups, help } from "#plugin/terminal/command.ts";

export function plugin(): string {
  const parts = Object.entries(groups).map(([group, title]) => {
    const own = Object.entries(commands).filter(([, one]) => one.group === group);
    const each = own.map(
      ([name, one]) => `### ${name}\n\n\`\`\`\n${help(name, one).trimEnd()}\n\`\`\`\n`,
    );
    return `## ${title}\n\n${each.join("\n")}`;
  });
  return `${intro}\n${parts.join("\n")}`;
}

const intro = `# kubectl pull-secret

\`npm run build\` makes \`dist/kubectl-pull_secret\`. kubectl finds it when \`dist\` is on your \`PATH\`:

\`\`\`sh
export PATH="$PWD/dist:$PATH"
kubectl pull-secret version
\`\`\`

To keep it, add that line to your shell's profile with the path of the checkout, or link to the file
from a folder of your \`PATH\`.

It starts the bundle beside it, \`dist/kubectl-pull_secret.cjs\`, with the Node that npm installed in
the checkout. To use the plugin on another machine, copy the bundle there as
\`kubectl-pull_secret\`: it is one executable file. It then needs Node 22.15 or newer on the
\`PATH\`; for commands on files alone Node 20 is enough. A release has it as an archive, with a manifest for
krew on Linux and macOS:
\`kubectl krew install --manifest=pull-secret.yaml --archive=kubectl-pull_secret-VERSION.tar.gz\`.

Commands that reach a cluster use your kubeconfig, and its rights. Those that only show need no right
on Secrets: \`status\` and \`wait\` read GlobalPullSecret, which \`wait\` compares with the Secrets'
versions where you may get these; \`nodes\` lists pods and Events in kube-system.

| Exit code | Meaning                                                      |
| --------- | ------------------------------------------------------------ |
| 0         | done, perhaps with warnings on standard error                |
| 1         | refused, or failed; standard error says why and what to do   |
| 2         | the command line is wrong, or a file cannot be read          |
| 3         | not yet, in the time that \`--timeout\` gives                  |

Only \`merge --show-credentials\` prints credentials; \`merge --output-file\` writes them to a file with
mode 0600. \`withdraw\`, \`uninstall\`,
\`remove\` of a Secret's last registry and \`clusters remove\` ask first, because they take credentials
off nodes; without a terminal they need \`--yes\`. Flags may stand before the command, as with kubectl. Colours
are for terminals only, unless \`NO_COLOR\` is set or \`TERM\` is \`dumb\`.

With \`-o json\` or \`yaml\`, \`status\` prints the object as \`kubectl explain gps\` describes it, without
managed fields, and \`nodes\` a list of \`{node, pod, revision, ready, code, message}\`; what is not
known is absent. \`check\` prints \`{accepted, problems, warnings, registries}\`, the first two lists of
\`{code, source, path, message, next}\` and the last of \`{registry, answer, why}\`, of which two are
there with \`--login\`. \`explain\` of an object prints a list, \`uninstall\` \`{deleted, kept}\`.

\`check --login\` tells a registry its credential when that asks for it, over TLS; what a redirect to
another host leads to is told nothing. Plain HTTP is for loopback addresses, and for hosts that
\`--plain-http\` names.
`;

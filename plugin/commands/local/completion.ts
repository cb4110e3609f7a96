/** `completion`: prints the script that a shell sources to complete this command. */
import { oneOf } from "#contract/values.ts";
import { scripts } from "#plugin/completion/scripts.ts";
import { command } from "#plugin/terminal/command.ts";

export const completion = command(
  {
    group: "local",
    what: "print what bash, zsh or fish sources to complete this command",
    example: "bash",
    more:
      "bash, in ~/.bashrc: source <(kubectl pull-secret completion bash), after kubectl's own; zsh the\n" +
      "same, in ~/.zshrc; fish: kubectl pull-secret completion fish | source. If you use kubectl's own\n" +
      "completion, put what `completion kubectl` prints on the PATH instead, as an executable\n" +
      "named kubectl_complete-pull_secret.",
    flags: {
      SHELL: {
        read: oneOf("bash", "zsh", "fish", "kubectl"),
        from: "operand",
        required: true,
        what: "bash, zsh, fish, or kubectl for its own completion",
      },
    },
  },
  ({ SHELL }, io) => {
    io.out(scripts[SHELL]);
    return Promise.resolve(0);
  },
);

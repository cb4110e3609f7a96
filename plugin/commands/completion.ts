/** `completion`: prints the script that a shell sources to complete this command. */
import { oneOf } from "#contract/values.ts";
import { scripts } from "../completion/scripts.ts";
import { command } from "../terminal/command.ts";

export const completion = command(
  {
    group: "local",
    what: "print the script that bash, zsh or fish sources to complete this command",
    example: "bash",
    more:
      "For bash, add this to ~/.bashrc, after kubectl's own completion:\n" +
      "source <(kubectl pull-secret completion bash). For zsh, add that line to ~/.zshrc,\n" +
      "with zsh in place of bash. For fish, run: kubectl pull-secret completion fish | source.\n" +
      "If you use kubectl's own completion, instead write the output of `completion kubectl` to an\n" +
      "executable file on the PATH, named kubectl_complete-pull_secret.",
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

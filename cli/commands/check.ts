/** `check`: the verdict, and the lines, that merge gives on an additional. */
import { path } from "../document/path.ts";
import { judge, tell } from "../document/verdict.ts";
import { command } from "../terminal/command.ts";

export const check = command(
  {
    group: "files",
    what: "judge an additional pull secret, without merging it",
    example: "pull-secret.json",
    flags: {
      F: { read: path, from: "operand", required: true, what: "the pull secret to judge" },
    },
  },
  async ({ F }, io) => {
    const files = { original: undefined, additional: F };
    const verdict = await judge(files, { conflicts: "additional", protect: [] }, io);
    return tell(
      verdict,
      ({ entries }) => `accepted: ${entries} ${entries === 1 ? "registry" : "registries"}\n`,
      io,
    );
  },
);

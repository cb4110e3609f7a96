/** `version`: prints the versions that a bug report needs. */
import { command } from "../terminal/command.ts";
import { outputFlag, print } from "../terminal/output.ts";
import { version as plugin } from "../terminal/version.ts";

export const version = command(
  {
    group: "local",
    what: "show the versions of this plugin and of the Node.js that runs it",
    example: "",
    flags: outputFlag,
  },
  async ({ output }, io) => {
    const { node } = process.versions;
    await print(output, { plugin, node }, () => [`${plugin} (Node ${node})`], io);
    return 0;
  },
);

/** `support-bundle`: what another person needs to help you, without credentials. */
import { oneOf } from "#contract/values.ts";
import { gather } from "#plugin/bundle/gather.ts";
import { clusterFlags } from "#plugin/cluster/flags.ts";
import { command } from "#plugin/terminal/command.ts";
import { print } from "#plugin/terminal/output.ts";
import { version as plugin } from "#plugin/terminal/version.ts";

export const supportBundle = command(
  {
    group: "see",
    what: "print what to attach to a bug report; contains no credentials",
    example: "-o yaml",
    more:
      "GlobalPullSecret, the controller's Deployment and the agents' DaemonSet, their pods and Events,\n" +
      "the nodes' versions, and the names, types and keys of the Secrets: of each what you may read;\n" +
      "what you may not is listed as missing. Of texts only plain words are shown, and the names of\n" +
      "nodes, pods and images. Read it before you send it on.",
    flags: {
      output: {
        read: oneOf("json", "yaml"),
        standard: "json",
        short: "o",
        what: "how to print, json or yaml",
      },
      ...clusterFlags,
    },
  },
  async ({ output, ...how }, io) => {
    const made = { plugin, node: process.versions.node, at: new Date().toISOString() };
    const gathered = await gather(await io.reach(how));
    await print(output, { made, ...gathered }, () => [], io);
    return 0;
  },
);

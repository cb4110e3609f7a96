/** `support-bundle`: prints the data that another person needs to help you, without credentials. */
import { oneOf } from "#contract/values.ts";
import { gather } from "../bundle/gather.ts";
import { clusterFlags } from "../cluster/flags.ts";
import { command } from "../terminal/command.ts";
import { print } from "../terminal/output.ts";
import { version as plugin } from "../terminal/version.ts";

export const supportBundle = command(
  {
    group: "see",
    what: "print the data to attach to a bug report; contains no credentials",
    example: "",
    more:
      "Contains GlobalPullSecret, the controller's Deployment and the agents' DaemonSet, their pods\n" +
      "and Events, the nodes' versions, and the names, types and keys of the Secrets. Lists objects\n" +
      "that you are not allowed to read as missing. Texts show only plain words, and the names of\n" +
      "nodes, pods and images. Read the bundle before you send it to someone.",
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
    const creation = { plugin, node: process.versions.node, at: new Date().toISOString() };
    const gathered = await gather(await io.reach(how));
    await print(output, { made: creation, ...gathered }, () => [], io);
    return 0;
  },
);

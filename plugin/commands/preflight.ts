/**
 * `preflight`: predicts what an installation would do on this cluster's nodes, before you install
 * it.
 */
import type { V1Node } from "@kubernetes/client-node";
import { oneOf, text } from "#contract/values.ts";
import { collections } from "#kube/client/paths.ts";
import { dryRun } from "../cluster/dry-run.ts";
import { clusterFlags } from "../cluster/flags.ts";
import { dryRunLines, Preflighter, preflightLines, valuesFor } from "../show/preflight.ts";
import { command } from "../terminal/command.ts";
import { print } from "../terminal/output.ts";
import { paintFor } from "../terminal/paint.ts";

export const preflight = command(
  {
    group: "see",
    what: "show, before anything is installed, which nodes can be served and what would restart",
    example: "",
    more:
      "Changes nothing. From the labels of each kind of node, and the data that its kubelet reports,\n" +
      "it predicts the distribution, the kubelet's systemd unit, the possible modes of delivery, and\n" +
      "whether the kubelet would restart. The duration is an estimate for the default rollout. A dry\n" +
      "run shows whether a quota, Pod Security, a policy or a webhook refuses the Secret\n" +
      "global-pull-secret, or the agents' ServiceAccount, DaemonSet or a pod of it, under the account\n" +
      "default. Without --image, a refusal that may be about the image counts as unknown. With -o\n" +
      "values, prints the chart's values for these nodes, or nothing if they need different values.\n" +
      "The exit code is 1 then, if no node can be served, or if the dry run is refused.",
    flags: {
      output: {
        read: oneOf("text", "json", "yaml", "values"),
        standard: "text",
        short: "o",
        what: "how to print: text, json, yaml, or the chart's values",
      },
      image: {
        read: text,
        what: "the image that you will install, for policies about images",
      },
      ...clusterFlags,
    },
  },
  async ({ output, image, ...how }, io) => {
    const cluster = await io.reach(how);
    const preflighter = new Preflighter();
    await cluster.pages<V1Node>(collections.nodes, {}, (page) => {
      for (const node of page) preflighter.add(node);
    });
    const nodes = preflighter.result();
    const { values, conflict } = valuesFor(nodes);
    const { policy, flags = {} } = values;
    const mode = policy?.delivery.mode === "Reread" ? "Reread" : "Restart";
    const result = { ...nodes, dryRun: await dryRun(cluster, { image, mode, flags }) };
    const isServed = nodes.groups.some(({ modes }) => modes.length > 0);
    const isRefused = result.dryRun.some((trial) => trial.result === "refused");
    if (output !== "values") {
      await print(output, result, (report) => preflightLines(report, paintFor(io.colour)), io);
      return isServed && !isRefused ? 0 : 1;
    }
    if (conflict === undefined) io.out(await io.yaml(values));
    else io.err(conflict);
    for (const line of isRefused ? dryRunLines(result.dryRun, paintFor(false)) : []) io.err(line);
    return isServed && !isRefused && conflict === undefined ? 0 : 1;
  },
);

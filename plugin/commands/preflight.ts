/**
 * `preflight`: predicts what an installation would do on this cluster's nodes, before you install
 * it.
 */
import type { V1Node } from "@kubernetes/client-node";
import { oneOf, text } from "#contract/values.ts";
import { collections } from "#kube/client/paths.ts";
import { dryRun } from "../cluster/dry-run.ts";
import { clusterFlags } from "../cluster/flags.ts";
import { Preflighter, preflightLines, valuesFor } from "../show/preflight.ts";
import { command } from "../terminal/command.ts";
import { print } from "../terminal/output.ts";
import { paintFor } from "../terminal/paint.ts";

/** The image's name if the user gives none. */
const name = "global-pull-secret";

export const preflight = command(
  {
    group: "see",
    what: "show, before anything is installed, which nodes can be served and what would restart",
    example: "",
    more:
      "Changes nothing. A dry run shows whether a quota, Pod Security, a policy or a webhook refuses\n" +
      "what an installation creates in kube-system. From the nodes' labels and the data that their\n" +
      "kubelets report, it predicts for each kind of node the distribution, the kubelet's systemd\n" +
      "unit, the possible modes of delivery, and whether the kubelet would restart. The duration is\n" +
      "an estimate for the default rollout. The agent examines each node itself before a change.\n" +
      "With -o values, prints the values of the chart for these nodes. The exit code is 1 if no node\n" +
      "can be served, if the nodes need different values, or if the dry run is refused.",
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
  async ({ output, image = name, ...how }, io) => {
    const cluster = await io.reach(how);
    const preflighter = new Preflighter();
    await cluster.pages<V1Node>(collections.nodes, {}, (page) => {
      for (const node of page) preflighter.add(node);
    });
    const nodes = preflighter.result();
    if (output === "values") {
      const { values, conflict } = valuesFor(nodes);
      io.out(await io.yaml(values));
      if (conflict !== undefined) io.err(conflict);
      return conflict === undefined ? 0 : 1;
    }
    const result = { ...nodes, dryRun: await dryRun(cluster, image) };
    await print(output, result, (report) => preflightLines(report, paintFor(io.terminal)), io);
    const isServed = nodes.groups.some(({ modes }) => modes.length > 0);
    return isServed && result.dryRun.refused.length === 0 ? 0 : 1;
  },
);

/** `clusters join`: another cluster becomes one of the host's. */
import { namespace } from "#contract/names.ts";
import { join as joinCluster } from "../../clusters/join.ts";
import { cluster } from "../../clusters/names.ts";
import { command } from "../../terminal/command.ts";
import { hostOf, pairFlags, target } from "./flags.ts";

/** What FleetSecrets place by the walk-through, and for a cluster's own installation. */
const usual = ["pull-secret", "fleet-pull-secret"].map((name) => ({ namespace, name }));

export const join = command(
  {
    group: "clusters",
    what: "join a cluster to the host, so that FleetSecrets reach it",
    example: "east --context east",
    more:
      "Makes an account there with just the rights that FleetSecrets need, takes a token of it for 30\n" +
      "days, and writes a ClusterProfile and the token's Secret in the host, whose fleet controller\n" +
      "renews the token at half its time. To join again renews rights and token. Where one side\n" +
      "refuses, what was made on the other is taken away.",
    flags: {
      NAME: {
        read: cluster,
        required: true,
        from: "operand",
        what: "what the cluster is called here, such as east",
      },
      ...pairFlags,
      context: { ...pairFlags.context, required: true },
      secret: {
        read: target,
        repeated: true,
        what: `NAMESPACE/NAME that may be placed there [${usual.map(({ name }) => `${namespace}/${name}`).join(", ")}]`,
      },
    },
  },
  async ({ NAME: name, secret, ...how }, io) => {
    const context = how.context ?? "";
    const place = await io.place(how);
    const [host, there] = await Promise.all([io.reach(hostOf(how)), io.reach(how)]);
    const targets = secret.length === 0 ? usual : secret;
    const expires = await joinCluster({ host, there }, { name, context, place, targets });
    io.out(`${name}: joined; its token is good until ${expires.toISOString()}\n`);
    io.out("next: kubectl pull-secret clusters list\n");
    return 0;
  },
);

/** `fleet join`: joins another cluster to the host. */
import { text, toggle } from "#contract/values.ts";
import { addressFor } from "#plugin/joining/address.ts";
import { join as joinCluster } from "#plugin/joining/join.ts";
import { usual } from "#plugin/joining/rights.ts";
import { cluster, target } from "#plugin/clusters/profile.ts";
import { command } from "#plugin/terminal/command.ts";
import { hostOf, pairFlags } from "./flags.ts";

export const join = command(
  {
    group: "fleet",
    what: "join a cluster to the host, so that FleetSecrets reach it",
    example: "east --context east",
    more:
      "Creates an account in the cluster with only the rights that FleetSecrets need, and admission\n" +
      "policies that restrict the account (these need Kubernetes 1.30, and your right to write them).\n" +
      "Writes a ClusterProfile and the Secret of a token for 30 days in the host, which is the\n" +
      "kubeconfig's current context. The host's fleet controller renews the token after half its\n" +
      "lifetime. To renew the rights and the token, join the cluster again. Without --secret, this\n" +
      "keeps the list of Secrets that may be placed there. If a first join fails, the command deletes\n" +
      "the objects that it has created.",
    flags: {
      NAME: {
        read: cluster,
        required: true,
        from: "operand",
        what: "the cluster's name in the host, such as east",
      },
      ...pairFlags,
      context: { ...pairFlags.context, required: true },
      server: {
        read: text,
        what: "https URL at which the host reaches the cluster, if not the context's",
      },
      "tls-server-name": {
        read: text,
        what: "the name in the server's certificate, if it differs from the server's host name",
      },
      "system-roots": {
        ...toggle,
        what: "trust the roots of the controller's machine, for a server behind a public authority",
      },
      adopt: {
        ...toggle,
        what: "take it over from another host, or from this host before it was rebuilt",
      },
      secret: {
        read: target,
        repeated: true,
        what: `NAMESPACE/NAME that may be placed there [${usual.map(({ namespace, name }) => `${namespace}/${name}`).join(", ")}]`,
      },
    },
  },
  async ({ NAME: name, secret, adopt, ...how }, io) => {
    const { context } = how;
    const place = addressFor(await io.place(how), how, context);
    const [host, joinedCluster] = await Promise.all([io.reach(hostOf(how)), io.reach(how)]);
    const as = (token: string) => io.reach({ ...how, token });
    const flags = {
      context,
      server: how.server,
      "tls-server-name": how["tls-server-name"],
      "system-roots": how["system-roots"],
    };
    const asked = { name, flags, place, targets: secret, adopts: adopt, as };
    const expires = await joinCluster({ host, cluster: joinedCluster }, asked);
    io.out(`${name}: joined; its token is good until ${expires.toISOString()}\n`);
    io.out("next: kubectl pull-secret fleet list\n");
    return 0;
  },
);

/** `clusters join`: joins another cluster to the host. */
import { text, toggle } from "#contract/values.ts";
import { addressFor } from "#plugin/joining/address.ts";
import { join as joinCluster } from "#plugin/joining/join.ts";
import { usual } from "#plugin/joining/targets.ts";
import { cluster, target } from "#plugin/clusters/names.ts";
import { command } from "#plugin/terminal/command.ts";
import { hostOf, pairFlags, withToken } from "./flags.ts";

export const join = command(
  {
    group: "clusters",
    what: "join a cluster to the host, so that FleetSecrets reach it",
    example: "east --context east",
    more:
      "Makes an account there with just the rights that FleetSecrets need, and admission policies that\n" +
      "hold it to them (Kubernetes 1.30, and your right to write them), takes a token of it for 30 days,\n" +
      "and writes a ClusterProfile and the token's Secret in the host, whose fleet controller\n" +
      "renews the token at half its time. To join again renews rights and token; without --secret it\n" +
      "keeps the Secrets that may be placed there. If one side refuses, what was created on the other\n" +
      "is removed. There is no --dry-run: each step needs what the step before has created.",
    flags: {
      NAME: {
        read: cluster,
        required: true,
        from: "operand",
        what: "what the cluster is called here, such as east",
      },
      ...pairFlags,
      context: { ...pairFlags.context, required: true },
      server: {
        read: text,
        what: "https URL at which the host reaches it, where that is not the context's",
      },
      "tls-server-name": {
        read: text,
        what: "the name in its certificate, where that is not the server's",
      },
      "system-roots": {
        ...toggle,
        what: "trust the roots of the controller's machine, for a server behind a public authority",
      },
      adopt: {
        ...toggle,
        what: "take it over from another host, or from this one as it was before it was rebuilt",
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
    const [host, there] = await Promise.all([io.reach(hostOf(how)), io.reach(how)]);
    const as = (token: string) => io.reach(withToken(how, token));
    const flags = {
      context,
      server: how.server,
      "tls-server-name": how["tls-server-name"],
      "system-roots": how["system-roots"],
    };
    const asked = { name, flags, place, targets: secret, adopts: adopt, as };
    const expires = await joinCluster({ host, there }, asked);
    io.out(`${name}: joined; its token is good until ${expires.toISOString()}\n`);
    io.out("next: kubectl pull-secret clusters list\n");
    return 0;
  },
);

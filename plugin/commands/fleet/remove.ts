/** `fleet remove`: removes a joined cluster from the host. */
import type { ClusterProfile } from "#api/cluster-profile.ts";
import { clusterManager } from "#contract/joined.ts";
import { toggle } from "#contract/values.ts";
import { escape } from "#pullsecret/problems/keypath.ts";
import { refuseOther, routesTo } from "#plugin/clusters/contexts.ts";
import {
  clusterId,
  cluster,
  profilePath,
  tokenPath,
  type Named,
} from "#plugin/clusters/profile.ts";
import { leave, allThatIsMade, refuseForeign } from "#plugin/joining/departure.ts";
import { release } from "#plugin/joining/release.ts";
import { agree, yesFlag } from "#plugin/terminal/confirm.ts";
import { command } from "#plugin/terminal/command.ts";
import { Refused } from "#plugin/terminal/io.ts";
import { hostOf, pairFlags } from "./flags.ts";

export const remove = command(
  {
    group: "fleet",
    what: "remove a joined cluster: first its objects there, then those in the host",
    example: "east",
    more:
      "First waits until the host's FleetSecrets have forgotten the cluster, for at most 30 s. Then\n" +
      "deletes in the cluster the account (its token is then void), its rights, and the Secrets that\n" +
      "FleetSecrets have placed. Last, deletes the token and the ClusterProfile in the host. Without\n" +
      "--context it uses the context with the cluster's name, or else the context of the join. If the\n" +
      "cluster cannot be reached, or if another host has joined it, nothing is changed on either\n" +
      "side, except with --forget. Asks first, except with --forget.",
    flags: {
      NAME: {
        read: cluster,
        required: true,
        from: "operand",
        what: "the cluster's name, as fleet list shows it",
      },
      ...yesFlag,
      ...pairFlags,
      forget: {
        ...toggle,
        what: "change nothing there, because the cluster is gone or belongs to another host",
      },
    },
    rules: [
      ({ forget, context }) =>
        forget === true && context !== undefined
          ? "--forget: does nothing there; leave out --context"
          : undefined,
    ],
  },
  async ({ NAME: name, forget, yes, ...how }, io) => {
    const host = await io.reach(hostOf(how));
    const forgotten = async (joined: ClusterProfile) => {
      const listing = await release(host, joined);
      if (listing === undefined)
        io.err(
          `${name}: you may not list FleetSecrets; one that still lists it may count it as ` +
            "unreachable for an hour",
        );
      for (const fleetSecret of listing ?? [])
        io.err(
          `${name}: fleetsecret ${fleetSecret} still lists it and may count it as unreachable for an hour; ` +
            "check that the fleet's controller runs",
        );
    };
    const profile = await host.get<ClusterProfile>(profilePath(name));
    if (profile === undefined || profile.spec.clusterManager.name !== clusterManager)
      throw new Refused(`${name}: not joined; kubectl pull-secret fleet list shows which are`);
    if (!forget) {
      const joinedCluster =
        how.context === undefined
          ? await (await routesTo(host, [name], how, io))[0]?.reach()
          : await io.reach(how);
      if (joinedCluster === undefined) throw new Refused(`${name}: not joined`);
      await refuseOther(joinedCluster, profile, how.context ?? name);
      const joinedBy = `${await clusterId(host)}/${name}`;
      const byHand = `delete there by hand: ${allThatIsMade}; then repeat with --forget`;
      await refuseForeign(joinedCluster, joinedBy, byHand);
      const question = `Delete in ${joinedCluster.identity} the Secrets that FleetSecrets have placed, and remove ${name}?`;
      await agree(yes, question, io);
      await forgotten(profile);
      // The names come from that cluster, so we escape them.
      for (const line of await leave(joinedCluster, joinedBy))
        io.out(`${name}: ${escape(line)} deleted\n`);
    } else await forgotten(profile);
    const token = await host.get<Named>(tokenPath(name), { as: "metadata" });
    if (token !== undefined) await host.remove(tokenPath(name), token.metadata?.uid ?? "");
    await host.remove(profilePath(name), profile.metadata.uid ?? "");
    io.out(`${name}: removed\n`);
    if (forget)
      io.err(`${name}: the join's objects there, and its token, stay until you delete them`);
    return 0;
  },
);

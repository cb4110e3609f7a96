/** `fleet rbac`: prints the rights that a cluster must grant for a FleetSecret's target. */
import { namespace } from "#contract/names.ts";
import { target } from "#plugin/clusters/names.ts";
import { guards, guestRights } from "#plugin/show/guest-rights.ts";
import { command } from "#plugin/terminal/command.ts";

export const fleetRbac = command(
  {
    group: "local",
    what: "print the rights that a FleetSecret needs in a cluster, to apply there",
    example: "--target kube-system/fleet-pull-secret",
    more:
      "Prints an account, a Role for that one Secret, and an admission policy that prevents\n" +
      "Kubernetes from filling the Secret with another account's token (Kubernetes 1.30). For\n" +
      "kube-system/fleet-pull-secret it also prints the right to read that cluster's\n" +
      "GlobalPullSecret, which shows whether the nodes have the Secret.",
    flags: {
      target: {
        read: target,
        standard: `${namespace}/pull-secret`,
        what: "the FleetSecret's target, NAMESPACE/NAME",
      },
    },
  },
  async ({ target: wanted }, io) => {
    for (const one of guards) io.out(`${await io.yaml(one)}---\n`);
    io.out(guestRights(wanted));
    return 0;
  },
);

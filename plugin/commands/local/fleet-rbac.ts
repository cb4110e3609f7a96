/** `fleet rbac`: the rights that a cluster has to grant for a FleetSecret's target. */
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
      "Prints an account, a Role for that one Secret, and an admission policy by which it becomes no\n" +
      "token of another account (Kubernetes 1.30); for kube-system/fleet-pull-secret also the right\n" +
      "to read that cluster's GlobalPullSecret, which shows whether its nodes have it.",
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

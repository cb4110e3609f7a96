/** `fleet rbac`: what a cluster has to grant for a FleetSecret's target. */
import { namespace } from "#contract/names.ts";
import { Wrong } from "#contract/values.ts";
import { guestRights } from "../../show/guest-rights.ts";
import { command } from "../../terminal/command.ts";

/** A DNS label, and a DNS subdomain. */
const label = "[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?";
const place = new RegExp(`^(${label})/(${label}(?:\\.${label})*)$`);

function target(value: string): Readonly<{ namespace: string; name: string }> | Wrong {
  const [, where = "", name = ""] = place.exec(value) ?? [];
  return name === "" || name.length > 253
    ? new Wrong("is no NAMESPACE/NAME; give one such as kube-system/pull-secret")
    : { namespace: where, name };
}

export const fleetRbac = command(
  {
    group: "local",
    what: "print the rights that a FleetSecret needs in a cluster, to apply there",
    example: "--target kube-system/fleet-pull-secret",
    more:
      "Prints an account and a Role for that one Secret; for kube-system/fleet-pull-secret also the\n" +
      "right to read that cluster's GlobalPullSecret, which tells whether its nodes have it.",
    flags: {
      target: {
        read: target,
        standard: `${namespace}/pull-secret`,
        what: "the FleetSecret's target, NAMESPACE/NAME",
      },
    },
  },
  ({ target: wanted }, io) => {
    io.out(guestRights(wanted));
    return Promise.resolve(0);
  },
);

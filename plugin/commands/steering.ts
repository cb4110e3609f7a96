/**
 * `pause`, `resume`, `withdraw` and `retry`. Each command sets one field of the object.
 */
import type { V1Deployment, V1Lease } from "@kubernetes/client-node";
import { namespace } from "#contract/names.ts";
import { duration, text } from "#contract/values.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { isAppliedByKubectl, releaseOf } from "#kube/client/declared-by.ts";
import { leaseIn } from "#kube/client/paths.ts";
import { clusterFlags } from "../cluster/flags.ts";
import { steer, type Change } from "../cluster/steer.ts";
import { deployment } from "../removal/objects.ts";
import { untilServed } from "./wait.ts";
import { agree, yesFlag } from "../terminal/confirm.ts";
import { command } from "../terminal/command.ts";
import { Refused } from "../terminal/io.ts";

const more =
  "Writes one field of globalpullsecret/cluster, under the field manager kubectl-pull-secret,\n" +
  "unless another tool, such as Argo CD, declares that field.";

const overPolicy =
  "If Helm declares managementState (the chart's value policy), this command overrides it until a\n" +
  "helm upgrade changes this value.";

const asked = "requested; next: kubectl pull-secret wait\n";

/** A command without flags of its own, which writes one change and prints the next step. */
const steering = (what: string, help: string, change: () => Change, next: string) =>
  command(
    { group: "steer", what, example: "", more: help, flags: clusterFlags },
    async (how, io) => {
      await steer(await io.reach(how), change());
      io.out(next);
      return 0;
    },
  );

export const pause = steering(
  "hold all changes to the nodes, even a withdrawal; drift is still repaired",
  `${more}\n\n${overPolicy}`,
  () => ({ state: "Paused" }),
  "paused; kubectl pull-secret resume ends it\n",
);

export const resume = steering(
  "let changes reach the nodes again, after pause or withdraw",
  more,
  () => ({ state: "Managed" }),
  "resumed; next: kubectl pull-secret wait\n",
);

export const retry = steering(
  "retry a halted revision now",
  more,
  // Any new value requests a retry. We use the time, which also shows when the user requested the
  // retry.
  () => ({ retry: new Date().toISOString() }),
  asked,
);

export const withdraw = command(
  {
    group: "steer",
    what: "remove the pull secret from the nodes; your own Secrets stay",
    example: "--yes",
    more: `${more}\n\n${overPolicy}`,
    flags: {
      wait: { read: duration, what: "how long to wait for all nodes, also absent ones" },
      "helm-release": {
        read: text,
        what: "do nothing if this release did not create the controller, or if none ever ran",
      },
      ...yesFlag,
      ...clusterFlags,
    },
  },
  async ({ wait, "helm-release": release, yes, ...how }, io) => {
    const cluster = await io.reach(how);
    const otherwise = release === undefined ? undefined : await whyNotUninstalled(cluster, release);
    if (otherwise !== undefined) {
      io.out(`${otherwise}, so nothing is withdrawn\n`);
      return 0;
    }
    await agree(yes, `Take the pull secret off every node of ${cluster.identity}?`, io);
    await steer(cluster, { state: "Withdrawn" });
    if (wait !== undefined)
      return untilServed(cluster, { timeout: wait, present: [], absent: true }, io);
    io.out(asked);
    return 0;
  },
);

/**
 * Why `helm uninstall` must withdraw nothing; undefined if it must. Helm marks what it creates, so
 * a controller without the mark shows that somebody applied the chart's hooks by hand. Without a
 * Lease, no controller has ever run, and no node has changed. Throws Refused if kubectl has applied
 * Helm's controller, because then the hooks can be of either, and if no controller holds the Lease,
 * because the withdrawal would begin only when a controller starts.
 */
async function whyNotUninstalled(cluster: Cluster, release: string): Promise<string | undefined> {
  const [controller, lease] = await Promise.all([
    cluster.get<V1Deployment>(deployment.path, { as: "metadata" }),
    cluster.get<V1Lease>(leaseIn(namespace)),
  ]);
  if (lease === undefined) return "no controller has run here";
  const { metadata } = controller ?? {};
  if (releaseOf(metadata) !== release)
    return `deployment/${deployment.name} does not belong to the Helm release ${release}`;
  if (isAppliedByKubectl(metadata))
    throw new Refused(
      `deployment/${deployment.name}: kubectl has applied it after Helm, so nothing is withdrawn. ` +
        "If this is an uninstall, withdraw first, then use helm uninstall --no-hooks",
    );
  if ((lease.spec?.holderIdentity ?? "") !== "") return undefined;
  throw new Refused(
    "deployment/global-pull-secret-controller: does not run, so nothing is withdrawn. Start it and " +
      "repeat, or use helm uninstall --no-hooks: the nodes then keep the credential",
  );
}

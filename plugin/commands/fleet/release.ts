/** `fleet release`: removes our finalizers from objects whose program was uninstalled. */
import { setTimeout as pause } from "node:timers/promises";
import type { KubernetesObject, V1Lease } from "@kubernetes/client-node";
import { fleetFinalizer, namespace, tenantFinalizer } from "#contract/names.ts";
import { Wrong } from "#contract/values.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { allFleetSecrets, allSyncSecrets, leaseIn } from "#kube/client/paths.ts";
import { clusterFlags } from "#plugin/cluster/flags.ts";
import { writeFinalizer } from "#runtime/finalizer.ts";
import { agree, yesFlag } from "#plugin/terminal/confirm.ts";
import { command } from "#plugin/terminal/command.ts";
import { Refused } from "#plugin/terminal/io.ts";

const kinds = {
  fleetsecrets: {
    path: allFleetSecrets,
    finalizer: fleetFinalizer,
    lease: "global-pull-secret-fleet",
  },
  syncsecrets: {
    path: allSyncSecrets,
    finalizer: tenantFinalizer,
    lease: "global-pull-secret-sync-tenant",
  },
} as const;

type Kind = keyof typeof kinds;

/** For how many times the Lease's duration, 15 s, the last pod of the program may take to end. */
const mostPauses = 4;

const readKind = (value: string): Kind | Wrong =>
  Object.hasOwn(kinds, value) ? (value as Kind) : new Wrong("is not fleetsecrets or syncsecrets");

export const release = command(
  {
    group: "fleet",
    what: "let objects be deleted after their program was uninstalled",
    example: "syncsecrets --yes",
    more:
      "Removes our finalizer from all FleetSecrets or SyncSecrets. Without it, an object can be\n" +
      "deleted although no program removes the Secret elsewhere: that Secret then stays. The\n" +
      "program adds the finalizer again when it is installed again. Refuses while the program\n" +
      "runs. helm uninstall runs this command.",
    flags: {
      KIND: {
        read: readKind,
        required: true,
        from: "operand",
        what: "fleetsecrets or syncsecrets",
      },
      ...yesFlag,
      ...clusterFlags,
    },
  },
  async ({ KIND: kind, yes, ...how }, io) => {
    const cluster = await io.reach(how);
    const { path, finalizer, lease } = kinds[kind];
    await agree(yes, `Remove our finalizer from all ${kind} of ${cluster.identity}?`, io);
    await untilEnded(cluster, lease, io.signal);
    const held: KubernetesObject[] = [];
    await cluster.pages<KubernetesObject>(path, {}, (page) => void held.push(...page), {
      as: "metadata",
    });
    let count = 0;
    for (const { metadata = {} } of held) {
      if (metadata.finalizers?.includes(finalizer) !== true) continue;
      const where = path.replace(`/${kind}`, `/namespaces/${metadata.namespace}/${kind}`);
      await writeFinalizer(cluster, `${where}/${metadata.name}`, { metadata }, finalizer, false);
      count += 1;
    }
    io.out(`${count} ${kind} released\n`);
    return 0;
  },
);

/**
 * A program that runs would add the finalizer again. It gives up its Lease when it ends; if it was
 * killed, it renews the Lease no more.
 */
async function untilEnded(cluster: Cluster, name: string, signal: AbortSignal): Promise<void> {
  let former: string | undefined;
  for (let time = 0; time < mostPauses; time += 1) {
    const lease = await cluster.get<V1Lease>(leaseIn(namespace, name));
    const { holderIdentity = "", renewTime, leaseDurationSeconds = 0 } = lease?.spec ?? {};
    if (holderIdentity === "" || String(renewTime) === former) return;
    former = String(renewTime);
    await pause(leaseDurationSeconds * 1000, undefined, { signal });
  }
  throw new Refused(`lease/${name}: its program runs, so nothing is released; uninstall it first`);
}

/**
 * `pause`, `resume`, `withdraw` and `retry`. Each command sets one field of the object, and records
 * the reason.
 */
import type { V1Lease } from "@kubernetes/client-node";
import {
  namespace,
  reasonAnnotation,
  retryAnnotation,
  withdrawNowAnnotation,
} from "#contract/names.ts";
import { duration, toggle, Wrong } from "#contract/values.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { leaseIn } from "#kube/client/paths.ts";
import { clusterFlags, dryRunFlag, dryRunNote } from "#plugin/cluster/flags.ts";
import { peekObject } from "#plugin/cluster/object.ts";
import { steer, type Change } from "#plugin/cluster/steer.ts";
import { untilServed } from "#plugin/commands/see/wait.ts";
import { agree, yesFlag } from "#plugin/terminal/agree.ts";
import { command, type Command } from "#plugin/terminal/command.ts";
import { Refused, type Reach } from "#plugin/terminal/io.ts";

/**
 * Maximum number of characters of a reason. A longer reason does not fit into the condition's
 * message.
 */
const longestReason = 256;

function reason(value: string): string | undefined | Wrong {
  if (value === "") return undefined;
  // Line breaks would break the tables that show the reason.
  const fits = value.length <= longestReason && !/[\p{C}\p{Zl}\p{Zp}]/u.test(value);
  return fits ? value : new Wrong(`is longer than ${longestReason} characters, or has line breaks`);
}

const flags = {
  reason: { read: reason, what: "why, shown in the object's status" },
  ...dryRunFlag,
  ...clusterFlags,
} as const;

const more =
  "Writes one field of globalpullsecret/cluster, under the field manager kubectl-pull-secret. If\n" +
  "another tool, such as Argo CD, declares that field, nothing is written, and the exit code is 1.";

const overPolicy =
  "If Helm declares managementState (the chart's value policy), this command overrides it until the\n" +
  "next helm upgrade. All other fields of that policy stay in force.";

const asked = "requested; next: kubectl pull-secret wait\n";
const judged = "the API server accepts it; nothing is written (server dry run)\n";

type Given = Readonly<{ reason: string | undefined }> & Reach;

/** Creates a command that writes `change` and the reason. `then`: the text to print afterwards. */
function steering(
  about: Readonly<{ what: string; example: string; more: string }>,
  change: Change,
  then: string,
) {
  return command({ group: "steer", flags, ...about }, async ({ reason, ...how }: Given, io) => {
    const annotations = { [reasonAnnotation]: reason, ...change.annotations };
    await steer(await io.reach(how), { ...change, annotations });
    io.out(dryRunNote(how) === "" ? `${then}\n` : judged);
    return 0;
  });
}

export const pause = steering(
  {
    what: "hold all changes to the nodes, even a withdrawal; drift is still repaired",
    example: '--reason "until the maintenance is over"',
    more: `${more}\n\n${overPolicy}`,
  },
  { state: "Paused", annotations: {} },
  "paused; kubectl pull-secret resume ends it",
);

export const resume = command(
  {
    group: "steer",
    what: "let changes reach the nodes again, after pause or withdraw",
    example: "",
    more,
    flags: {
      "if-withdrawn": {
        ...toggle,
        what: "only if the state is Withdrawn, even if Helm declares it; for helm uninstall",
      },
      ...flags,
    },
  },
  async ({ reason, "if-withdrawn": ifWithdrawn, ...how }, io) => {
    const cluster = await io.reach(how);
    if (ifWithdrawn && (await peekObject(cluster))?.spec?.managementState !== "Withdrawn") {
      io.out("not withdrawn; nothing is done\n");
      return 0;
    }
    // This removes the annotation of --now, so that the next withdrawal has a grace period again.
    const annotations = { [reasonAnnotation]: reason, [withdrawNowAnnotation]: undefined };
    await steer(cluster, { state: "Managed", annotations });
    io.out(dryRunNote(how) === "" ? "resumed; next: kubectl pull-secret wait\n" : judged);
    return 0;
  },
);

export const retry: Command = command(
  {
    group: "steer",
    what: "retry a halted revision now",
    example: '--reason "n7 has a new disk"',
    more,
    flags,
  },
  async ({ reason, ...how }, io) => {
    // Any new value requests a retry. We use the time, which also shows when the user requested the
    // retry.
    const now = { [retryAnnotation]: new Date().toISOString() };
    // Without a new reason, the former reason stays.
    const annotations = reason === undefined ? now : { ...now, [reasonAnnotation]: reason };
    await steer(await io.reach(how), { annotations });
    io.out(dryRunNote(how) === "" ? asked : judged);
    return 0;
  },
);

export const withdraw = command(
  {
    group: "steer",
    what: "remove the pull secret from the nodes; your own Secrets stay",
    example: '--now --yes --reason "the credential leaked"',
    more: `${more}\n\n${overPolicy}`,
    flags: {
      now: { ...toggle, what: "without the grace period of spec.withdrawal" },
      wait: { read: duration, what: "how long to wait for the nodes; then the exit code is 3" },
      "if-running": {
        ...toggle,
        what: "fail if the controller does not run, unless none ever ran; for helm uninstall",
      },
      ...yesFlag,
      ...flags,
    },
  },
  async ({ reason, now, wait, "if-running": ifRunning, yes, ...how }, io) => {
    const cluster = await io.reach(how);
    const isDry = dryRunNote(how) !== "";
    if (ifRunning && !(await hasController(cluster))) {
      io.out("no controller has run here, so nothing is withdrawn\n");
      return 0;
    }
    await agree(yes || isDry, `Take the pull secret off every node of ${cluster.identity}?`, io);
    const haste = now ? "true" : undefined;
    const annotations = { [reasonAnnotation]: reason, [withdrawNowAnnotation]: haste };
    await steer(cluster, { state: "Withdrawn", annotations });
    if (wait !== undefined && !isDry)
      return await untilServed(cluster, { timeout: wait, present: [] }, io);
    io.out(isDry ? judged : asked);
    return 0;
  },
);

/**
 * Whether a controller runs and can withdraw. False without a Lease, because then no controller has
 * ever run, and no node has changed. Throws Refused if no controller holds the Lease, because the
 * withdrawal would begin only when a controller starts.
 */
async function hasController(cluster: Cluster): Promise<boolean> {
  const lease = await cluster.get<V1Lease>(leaseIn(namespace));
  if (lease === undefined) return false;
  if ((lease.spec?.holderIdentity ?? "") !== "") return true;
  throw new Refused(
    "deployment/global-pull-secret-controller: does not run, so nothing is withdrawn. Start it and " +
      "repeat, or use helm uninstall --no-hooks: the nodes then keep the credential",
  );
}

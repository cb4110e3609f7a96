/** `uninstall`: cleans the nodes, then deletes the controller, then the CRD. */
import { clusterFlags, timeoutFlag } from "../cluster/flags.ts";
import { peekObject, sourceSecrets } from "../cluster/object.ts";
import { deleteAll, refuseOfHelm, giveBack } from "../removal/delete.ts";
import { agree, yesFlag } from "../terminal/confirm.ts";
import { command } from "../terminal/command.ts";
import { outputFlag, print } from "../terminal/output.ts";

/** The result that `-o json` prints. Its shape is stable. */
type Answer = Readonly<{
  /** The objects that this command has deleted, as KIND/NAME. Empty if none existed. */
  deleted: readonly string[];
  /** The user's own Secrets, which we keep. */
  kept: readonly string[];
}>;

export const uninstall = command(
  {
    group: "steer",
    what: "remove the pull secret from the nodes, then delete the controller and its objects",
    example: "--yes --timeout 30m",
    more:
      "Withdraws, and waits until no node has any of our entries. Then it deletes the controller, its\n" +
      "rights, GlobalPullSecret and its CRD, but not the Secrets that you created. You can run it\n" +
      "again, also after an interruption. If Helm installed the product, use helm uninstall. If a\n" +
      "tool such as Argo CD declares these objects, remove them there as well. If the time is over,\n" +
      "the controller still runs and continues.",
    flags: {
      ...yesFlag,
      ...timeoutFlag("15m"),
      ...outputFlag,
      ...clusterFlags,
    },
  },
  async ({ yes, timeout, output, ...how }, io) => {
    const cluster = await io.reach(how);
    await refuseOfHelm(cluster);
    const question = `Take the pull secret off every node of ${cluster.identity}, and uninstall?`;
    await agree(yes, question, io);
    const end = performance.now() + timeout * 1000;
    const object = await peekObject(cluster);
    const { signal } = io;
    const { is, why } = await giveBack(cluster, timeout, io);
    if (is !== "back") {
      io.err(
        is === "failed" ? why : `the pull secret is still on nodes, so nothing is deleted: ${why}`,
      );
      return is === "failed" ? 1 : 3;
    }
    const deleted: string[] = [];
    const gone = await deleteAll(cluster, {
      seconds: (end - performance.now()) / 1000,
      signal,
      deleted: ({ kind, name }) => void deleted.push(`${kind}/${name}`),
    });
    if (!gone) {
      io.err(signal.aborted ? interrupted(deleted) : stillRunning);
      return 3;
    }
    const kept = sourceSecrets(object).map(({ secret }) => secret);
    await print(output, { deleted, kept }, lines, io);
    return 0;
  },
);

const stillRunning = "the controller's pods have not ended yet; run uninstall again later";

const interrupted = (deleted: readonly string[]): string =>
  `interrupted; deleted: ${deleted.join(", ") || "nothing"}; the other objects, such as the ` +
  "CRD of GlobalPullSecret, still exist; run uninstall again";

function lines({ deleted, kept }: Answer): string[] {
  return [
    ...(deleted.length === 0
      ? ["nothing of the product is left"]
      : deleted.map((object) => `${object} deleted`)),
    `your own Secrets stay, if they exist: ${kept.join(", ")}`,
  ];
}

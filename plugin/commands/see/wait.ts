/** `wait`: waits until every node that can be served has the latest edit. */
import { escape } from "#pullsecret/problems/keypath.ts";
import { toggle } from "#contract/values.ts";
import { clusterFlags, sourceFlag, timeoutFlag } from "#plugin/cluster/flags.ts";
import { followObject, peekObject } from "#plugin/cluster/object.ts";
import { sourceSecret, sourceSecrets, versionOf } from "#plugin/cluster/secrets.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { judgeServed, type PresentSource, type Served } from "#plugin/show/presence.ts";
import { expectedSeconds } from "#plugin/show/expected.ts";
import { command } from "#plugin/terminal/command.ts";
import { liveLine } from "#plugin/terminal/live.ts";
import type { ExitCode, Io } from "#plugin/terminal/io.ts";

export const wait = command(
  {
    group: "see",
    what: "wait until the edit just made is on every node that can be served",
    example: "--timeout 5m",
    more:
      "Compares the current version of each source's Secret with the version that the nodes have,\n" +
      "so that it does not return while the object is still Ready for the previous version. This\n" +
      "needs the right to get these Secrets by name, but does not request their content. Without\n" +
      "the right it waits only for the object. On a terminal, one line shows the elapsed time and\n" +
      "the time that the nodes may still need. The exit code is 0 if the edit is served, 1 if it\n" +
      "will not be served (with the reason), and 3 if the time is over.",
    flags: {
      ...timeoutFlag("10m"),
      ...sourceFlag,
      "not-withdrawn": { ...toggle, what: "fail if the policy is Withdrawn, as helm test does" },
      ...clusterFlags,
    },
  },
  async ({ timeout, source, "not-withdrawn": notWithdrawn, ...how }, io) => {
    const cluster = await io.reach(how);
    const present = await presentVersions(cluster, source, io);
    return await untilServed(cluster, { timeout, present, notWithdrawn }, io);
  },
);

type Waiting = Readonly<{
  timeout: number;
  present: readonly PresentSource[];
  /** A withdrawal counts as a failure. */
  notWithdrawn?: boolean;
}>;

const withdrawn: Served = {
  is: "failed",
  why: "it is withdrawn (spec.managementState); kubectl pull-secret resume, or declare Managed",
};

/** Waits for these versions, prints the outcome, and returns the exit code. */
export async function untilServed(
  cluster: Cluster,
  { timeout, present, notWithdrawn }: Waiting,
  io: Io,
): Promise<ExitCode> {
  let last: Served | undefined;
  const live = liveLine(io.live, io.err);
  const answer = await followObject(cluster, {
    seconds: timeout,
    signal: io.signal,
    each: (object) => {
      if (notWithdrawn && object?.spec?.managementState === "Withdrawn") return withdrawn;
      const now = judgeServed(object, present);
      if (now.is !== "waiting") return now;
      live.show(now.why, object && expectedSeconds(object));
      last = now;
      return undefined;
    },
  }).finally(live.end);
  if (answer?.is === "served") io.out(`${escape(answer.why || "served")}\n`);
  if (answer?.is === "failed") io.err(answer.why);
  if (answer === undefined)
    io.err(`not served yet: ${last?.why ?? "the API server did not answer"}`);
  return answer === undefined ? 3 : answer.is === "served" ? 0 : 1;
}

/**
 * The current versions of the Secrets. If the caller may not read a Secret, we leave it out and
 * print that.
 */
async function presentVersions(
  cluster: Cluster,
  source: string | undefined,
  io: Io,
): Promise<readonly PresentSource[]> {
  const object = await peekObject(cluster);
  const wanted = source === undefined ? sourceSecrets(object) : [sourceSecret(object, source)];
  const found = await Promise.all(
    wanted.map(async ({ source, secret }) => ({ source, now: await versionOf(cluster, secret) })),
  );
  const hidden = found.flatMap(({ source, now }) => (now === "hidden" ? [source] : []));
  if (hidden.length > 0)
    io.err(
      `${hidden.join(", ")}: no right to get the Secret; waiting for Ready of the object, which may ` +
        "speak of the version before",
    );
  return found.flatMap(({ source, now }) => (now === "hidden" ? [] : [{ source, ...now }]));
}

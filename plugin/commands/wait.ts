/** `wait`: waits until the latest edit is in force on the nodes. */
import type { GlobalPullSecret } from "#api/global-pull-secret.ts";
import { escape } from "#pullsecret/problems/keypath.ts";
import { additionalSecretName } from "#contract/names.ts";
import { duration, toggle } from "#contract/values.ts";
import { clusterFlags, sourceFlag } from "../cluster/flags.ts";
import {
  followObject,
  peekObject,
  sourceSecret,
  sourceSecrets,
  versionOf,
} from "../cluster/object.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { judgeServed, type PresentSource, type Served } from "../show/presence.ts";
import { command } from "../terminal/command.ts";
import type { ExitCode, ScreenIo } from "../terminal/io.ts";
import { printChanges } from "../terminal/output.ts";

export const wait = command(
  {
    group: "see",
    what: "wait until the edit just made is in force on the nodes",
    example: "--timeout 5m",
    more:
      "Compares the version of each source's Secret with the version that the nodes have, so that it\n" +
      "does not return while the object is still Ready for the previous version. It waits while no\n" +
      "source has credentials, and for each Secret of spec.sources that does not exist yet. To also\n" +
      "wait for an additional-pull-secret that does not exist yet, name it with --source. This needs\n" +
      "the right to get these Secrets by name, but does not request their content. Without the right\n" +
      "it waits only for the object. The exit code is 1 if the edit will not be served.",
    flags: {
      timeout: {
        read: (value) => (/^0s?$/.test(value) ? 0 : duration(value)),
        standard: "10m",
        what: "how long to wait; 0 checks once",
      },
      ...sourceFlag,
      deleted: { ...toggle, what: "the source's Secret is deleted; wait until no node has it" },
      "not-withdrawn": { ...toggle, what: "fail if the policy is Withdrawn, as helm test does" },
      ...clusterFlags,
    },
  },
  async ({ timeout, source, deleted, "not-withdrawn": notWithdrawn, ...how }, io) => {
    const cluster = await io.reach(how);
    const named = source ?? (deleted ? additionalSecretName : undefined);
    const present = await presentVersions(cluster, named, io);
    return untilServed(cluster, { timeout, present, deleted, notWithdrawn }, io);
  },
);

type Waiting = Readonly<{
  timeout: number;
  present: readonly PresentSource[];
  /** Whether to wait until all nodes have removed the entries of deleted Secrets. */
  deleted?: boolean;
  /** Whether absent nodes too must have confirmed a withdrawal. */
  absent?: boolean;
  /** Whether a withdrawal counts as a failure. */
  notWithdrawn?: boolean;
}>;

const withdrawn: Served = {
  is: "failed",
  why: "it is withdrawn (spec.managementState); kubectl pull-secret resume, or declare Managed",
};

/** Waits for these versions, prints the outcome, and returns the exit code. */
export async function untilServed(
  cluster: Cluster,
  { timeout, present, deleted = false, absent = false, notWithdrawn }: Waiting,
  io: ScreenIo,
): Promise<ExitCode> {
  let last: Served | undefined;
  let denied: readonly string[] = [];
  const show = printChanges(io.err);
  const each = (object: GlobalPullSecret | undefined) => {
    if (notWithdrawn && object?.spec?.managementState === "Withdrawn") return withdrawn;
    const now = judgeServed(object, present, { deleted, absent });
    denied = deniedOf(object);
    if (now.is !== "waiting") return now;
    show(now.why);
    last = now;
    return undefined;
  };
  const following = { seconds: timeout, signal: io.signal, each };
  const answer = await (timeout === 0
    ? peekObject(cluster).then(each)
    : followObject(cluster, following));
  if (answer?.is === "served" && denied.length > 0)
    io.err(`${denied.join(", ")}: denies the credential; pulls will fail, also of public images`);
  if (answer?.is === "served") io.out(`${escape(answer.why || "served")}\n`);
  if (answer?.is === "failed") io.err(answer.why);
  if (answer === undefined)
    io.err(`not served yet: ${last?.why ?? "the API server did not answer"}`);
  return answer === undefined ? 3 : answer.is === "served" ? 0 : 1;
}

/** The registries that deny their credential, as the controller has asked them. */
const deniedOf = (object: GlobalPullSecret | undefined): readonly string[] =>
  (object?.status?.registries ?? [])
    .filter(({ verified }) => verified === "Denied")
    .map(({ registry }) => registry);

/**
 * The current versions of the Secrets. If the caller is not allowed to read a Secret, the version
 * is `hidden`, and we print a note. If `name` is undefined, additional-pull-secret is allowed to be
 * missing.
 */
async function presentVersions(
  cluster: Cluster,
  name: string | undefined,
  io: ScreenIo,
): Promise<readonly PresentSource[]> {
  const object = await peekObject(cluster);
  const sources = name === undefined ? sourceSecrets(object) : [sourceSecret(object, name)];
  const presentSources = await Promise.all(
    sources.map(async ({ source, secret }): Promise<PresentSource> => {
      return {
        source,
        version: await versionOf(cluster, secret),
        before: object?.status?.sources?.find((sourceStatus) => sourceStatus.name === source)
          ?.resourceVersion,
        named: name !== undefined || source !== additionalSecretName,
      };
    }),
  );
  const hidden = presentSources.flatMap(({ source, version }) =>
    version === "hidden" ? [source] : [],
  );
  if (hidden.length > 0)
    io.err(
      `${hidden.join(", ")}: no right to get the Secret; waiting for Ready of the object, which may ` +
        "describe the previous version",
    );
  return presentSources;
}

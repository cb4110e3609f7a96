/** `fleet list`: the joined clusters and their states. */
import type { ClusterProfile } from "#api/cluster-profile.ts";
import { leavingLabel } from "#contract/joined.ts";
import { conditionOf } from "#kube/conditions.ts";
import { clusterFlags } from "#plugin/cluster/flags.ts";
import { joinedIn } from "#plugin/clusters/profile.ts";
import { outputFlag, print, table } from "#plugin/terminal/output.ts";
import { command } from "#plugin/terminal/command.ts";
import { paintFor, type Paint } from "#plugin/terminal/paint.ts";

export const list = command(
  {
    group: "fleet",
    what: "show the joined clusters, whether the token is accepted, and whether they are healthy",
    example: "",
    more:
      "Reads the ClusterProfiles that joins have created. GUARDED shows whether the policies that\n" +
      "restrict the account are in place. With -o json or yaml it prints a list of {name, joined,\n" +
      "healthy, guarded, version, message}.",
    flags: { ...outputFlag, ...clusterFlags },
  },
  async ({ output, ...how }, io) => {
    const rows = (await joinedIn(await io.reach(how))).map(rowOf);
    await print(output, rows, (all) => lines(all, paintFor(io.colour)), io);
    return 0;
  },
);

type Row = Readonly<{
  name: string;
  joined: string;
  healthy: string;
  /** Whether policies in the cluster restrict the account. */
  guarded: string;
  version: string;
  /**
   * The message of the first condition that is not True, or a note that a removal was interrupted.
   */
  message?: string;
}>;

function rowOf({ metadata, status }: ClusterProfile): Row {
  const types = ["Joined", "ControlPlaneHealthy", "AccountGuarded"] as const;
  const all = types.map((type) => conditionOf(status, type));
  const [joined = "", healthy = "", guarded = ""] = all.map(
    (condition) => condition?.status ?? "Unknown",
  );
  const version = status?.version?.kubernetes ?? "";
  const row = { name: metadata.name ?? "", joined, healthy, guarded, version };
  const note = Object.hasOwn(metadata.labels ?? {}, leavingLabel)
    ? `is being removed; to finish: kubectl pull-secret fleet remove ${row.name}`
    : all.find((condition) => condition !== undefined && condition.status !== "True")?.message;
  return note === undefined ? row : { ...row, message: note };
}

function lines(rows: readonly Row[], paint: Paint): string[] {
  if (rows.length === 0) return ["No cluster is joined: kubectl pull-secret fleet join --help."];
  const shown = rows.map(({ name, joined, healthy, guarded, version, message = "" }) => ({
    isGood: [joined, healthy, guarded].every((status) => status === "True"),
    cells: [name, joined, healthy, guarded, version, message],
  }));
  return table(["NAME", "JOINED", "HEALTHY", "GUARDED", "VERSION", ""], shown, paint);
}

/** `clusters list`: the joined clusters, and how they are. */
import type { V1Condition } from "@kubernetes/client-node";
import type { ClusterProfile } from "#api/cluster-profile.ts";
import { clusterFlags } from "../../cluster/flags.ts";
import { joinedIn } from "../../clusters/profile.ts";
import { columns } from "../../terminal/columns.ts";
import { command } from "../../terminal/command.ts";
import { outputFlag, print } from "../../terminal/output.ts";
import { paintFor, type Paint } from "../../terminal/paint.ts";

export const list = command(
  {
    group: "clusters",
    what: "show the joined clusters: whether the token is taken, and the control plane healthy",
    example: "-o json",
    more:
      "Reads the ClusterProfiles that joining has made, whose conditions the host's fleet controller\n" +
      "writes. With -o json or yaml it prints a list of {name, joined, healthy, version, message}.",
    flags: { ...outputFlag, ...clusterFlags },
  },
  async ({ output, ...how }, io) => {
    const rows = (await joinedIn(await io.reach(how))).map(rowOf);
    await print(output, rows, (all) => lines(all, paintFor(io.terminal)), io);
    return 0;
  },
);

type Row = Readonly<{
  name: string;
  joined: string;
  healthy: string;
  version: string;
  /** Of the first condition that is not True. */
  message?: string;
}>;

function rowOf({ metadata, status }: ClusterProfile): Row {
  const of = (type: string): V1Condition | undefined =>
    status?.conditions?.find((one) => one.type === type);
  const both = [of("Joined"), of("ControlPlaneHealthy")];
  const [joined = "Unknown", healthy = "Unknown"] = both.map((one) => one?.status ?? "Unknown");
  const said = both.find((one) => one !== undefined && one.status !== "True")?.message;
  const version = status?.version?.kubernetes ?? "";
  const row = { name: metadata.name ?? "", joined, healthy, version };
  return said === undefined ? row : { ...row, message: said };
}

function lines(rows: readonly Row[], paint: Paint): string[] {
  if (rows.length === 0) return ["No cluster is joined: kubectl pull-secret clusters join --help."];
  const cells = rows.map(({ name, joined, healthy, version, message = "" }) => [
    name,
    joined,
    healthy,
    version,
    message,
  ]);
  const [head = "", ...body] = columns([["NAME", "JOINED", "HEALTHY", "VERSION", ""], ...cells]);
  const good = ({ joined, healthy }: Row) => joined === "True" && healthy === "True";
  return [
    paint.strong(head),
    ...body.map((line, at) => (rows.slice(at, at + 1).every(good) ? line : paint.doubt(line))),
  ];
}

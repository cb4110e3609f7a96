/**
 * How many files of test/ run side by side. A cluster with nodes takes half a core on an idle
 * machine (26 CPU seconds in 52 s, of a file that adds four nodes), and a quarter on a busy one;
 * three of them leave something of two cores. The other files mostly wait, for settle times and
 * back-offs: a control plane alone takes a twelfth of a core. Two of them beside: with three, no
 * moment of two cores was idle, and a wave of four nodes took over a minute.
 */
import { readFileSync } from "node:fs";

export type Lane = Readonly<{ name: string; concurrency: number; files: readonly string[] }>;

/** Whether the file starts a cluster by itself; what starts one for others has no nodes in it. */
export function bootsNodes(file: string): boolean {
  return readFileSync(file, "utf8").includes("startCluster(");
}

/** Every file in one lane; no empty lane. */
export function lanes(files: readonly string[], boots = bootsNodes): Lane[] {
  const all: readonly Lane[] = [
    { name: "nodes", concurrency: 3, files: files.filter((file) => boots(file)) },
    { name: "others", concurrency: 2, files: files.filter((file) => !boots(file)) },
  ];
  return all.filter((lane) => lane.files.length > 0);
}

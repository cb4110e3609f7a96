/**
 * How many files of test/ run side by side. One that boots nodes takes two thirds of a core while
 * it lasts, most of it the kubelets' and the API server's, and three of them fill two cores. The
 * others mostly wait, for settle times and back-offs, and take a tenth: beside those three, three
 * more cost little.
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
    { name: "others", concurrency: 3, files: files.filter((file) => !boots(file)) },
  ];
  return all.filter((lane) => lane.files.length > 0);
}

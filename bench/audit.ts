/** Who asked the API server for what, read from its audit log. */
import { closeSync, openSync, readSync, statSync } from "node:fs";
import * as names from "#contract/names.ts";
import type { Cluster } from "../test/cluster/cluster.ts";

type Line = { verb: string; requestURI: string; user: { username: string } };

const account = (name: string) => `system:serviceaccount:${names.namespace}:${name}`;
const controller = account("global-pull-secret-controller");
const reading: ReadonlySet<string> = new Set(["get", "list", "watch"]);

/** The end of the log: requests are counted from here. */
export function auditMark({ auditLog }: Cluster): number {
  return statSync(auditLog).size;
}

/**
 * Requests of the controllers, and of the agents, which have an account but no token. Without those
 * that keep their watches open (a list and a watch each every four minutes, change or no change)
 * and their Lease (the leader writes it every 4 s, the standby reads it every 2 s).
 */
export function requestsSince(
  cluster: Cluster,
  mark: number,
): Readonly<{ controller: number; agents: number }> {
  const lines = linesSince(cluster, mark).filter((line) => !keepsPlace(line));
  const users = lines.map(({ user }) => user.username);
  const of = (name: string) => users.filter((user) => user === name).length;
  return { controller: of(controller), agents: of(account(names.syncerName)) };
}

/** Requests of the controller that were meant to change something. */
export function controllerWrites(cluster: Cluster, mark: number): number {
  return linesSince(cluster, mark).filter(
    (line) => line.user.username === controller && !reading.has(line.verb) && !keepsPlace(line),
  ).length;
}

function keepsPlace({ verb, requestURI }: Line): boolean {
  if (requestURI.startsWith("/apis/coordination.k8s.io/")) return true;
  return (
    verb === "watch" || (verb === "list" && requestURI.includes("fieldSelector=metadata.name"))
  );
}

function linesSince({ auditLog }: Cluster, mark: number): Line[] {
  const buffer = Buffer.alloc(statSync(auditLog).size - mark);
  const file = openSync(auditLog, "r");
  readSync(file, buffer, 0, buffer.length, mark);
  closeSync(file);
  // The last line may be half written.
  const lines = buffer.toString().split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Line);
}

/** Kubelets that die with the new file, on a real systemd. */
import assert from "node:assert/strict";
import type { Inside } from "./inside.ts";

/** kubeadm's unit has Type simple, RHCOS's has notify, and a careful author would use exec. */
export const types = ["simple", "exec", "notify"] as const;

/** `restarts`: whether systemd restarts it by itself. */
export type Death = Readonly<{
  type: (typeof types)[number];
  /** Time after its start. */
  seconds: number;
  restarts: "always" | "no";
}>;

/**
 * With this kubelet the node gets its old file back. If systemd does not restart it, the agent
 * makes every attempt: three, and the start with the old file. If systemd does, its own attempts
 * count too.
 */
export async function assertFileRestored(
  inside: Inside,
  revision: number,
  { type, seconds, restarts }: Death,
): Promise<void> {
  const dies = `test ! -e /var/lib/kubelet/config.json || (sleep ${seconds}; kill -9 $MAINPID) &`;
  await inside.machine.breakKubelet(
    `[Service]\nType=${type}\nRestart=${restarts}\nExecStartPost=/bin/sh -c '${dies}'\n`,
  );
  await inside.start(revision, `--probation=${seconds + 5}s`);
  const where = `${type}, after ${seconds} s, Restart=${restarts}`;
  assert.equal(await inside.ended(180_000), "1", where);
  assert.match(inside.node.message, /^GPS218 /, where);
  assert.equal(inside.node.file, undefined, where);
  assert.equal((await inside.kubelet()).ActiveState, "active", where);
  const made = (await inside.jobs(revision)).length;
  const least = restarts === "no" ? 4 : 2;
  assert.ok(made >= least && made <= 4, `${where}: ${made} restarts`);
}

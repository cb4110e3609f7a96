/** Kubelets that die with the new file, on a real systemd. */
import assert from "node:assert/strict";
import type { Inside } from "./inside.ts";

/**
 * Values of `Type=` in the kubelet's unit. kubeadm uses simple, and RHCOS uses notify. Other units
 * use exec.
 */
export const types = ["simple", "exec", "notify"] as const;

/** How a kubelet dies. `restarts`: whether systemd restarts the kubelet by itself. */
export type Death = Readonly<{
  type: (typeof types)[number];
  /** Seconds from the kubelet's start to its death. */
  seconds: number;
  restarts: "always" | "no";
}>;

/**
 * Asserts that the agent restores the old file when the kubelet dies like this. If systemd does not
 * restart the kubelet, the agent requests all four starts: three attempts with the new file, and
 * one start with the old file. If systemd restarts the kubelet, these starts are the attempts, so
 * the agent requests only the first.
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
  await inside.fails(180_000);
  assert.equal(inside.node.file, undefined, where);
  assert.equal((await inside.kubelet()).ActiveState, "active", where);
  const { length } = await inside.jobs();
  assert.equal(length, restarts === "no" ? 4 : 1, where);
}

/**
 * Limits of this machine that several clusters at once would reach. All nodes run as root on this
 * machine, so they share limits that each real node has for itself.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { progress } from "../run.ts";

const file = "/proc/sys/fs/inotify/max_user_instances";

/**
 * Number of inotify instances for all clusters at once. Each node needs about 15 (systemd,
 * journald, containerd, kubelet, agent), and three test files with five nodes each run at a time.
 * The default of the kernel is 128. A kubelet that gets no instance ends, and its node never
 * becomes Ready again.
 */
const enough = 1024;

/**
 * If the machine's limit is lower than this number, raises the limit until the next boot. Prints a
 * message if the machine does not allow the change.
 */
export function raiseLimits(): void {
  if (Number(readFileSync(file, "utf8")) >= enough) return;
  try {
    writeFileSync(file, String(enough));
  } catch {
    progress(`${file} is below ${enough} and cannot be raised: nodes may fail to come back`);
  }
}

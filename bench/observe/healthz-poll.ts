/**
 * A separate process inside a node's network: requests the kubelet's healthz every few milliseconds
 * and writes a line `up TIME` or `down TIME` when the answer changes. `node healthz-poll.ts
 * MILLISECONDS`
 */
import { setTimeout as sleep } from "node:timers/promises";
import { askHealthz } from "#agent/observe/kubelet.ts";

const every = Number(process.argv[2]);
let last = "";
for (;;) {
  const asked = Date.now();
  const now = (await askHealthz(10248)) === "answers" ? "up" : "down";
  // TIME: for `down` the time of the request, for `up` the time at which the answer arrived.
  if (now !== last) process.stdout.write(`${now} ${now === "up" ? Date.now() : asked}\n`);
  last = now;
  await sleep(every);
}

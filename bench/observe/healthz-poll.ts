/**
 * A process of its own inside a node's network: asks the kubelet's healthz every few milliseconds
 * and writes a line `up TIME` or `down TIME` when the answer changes. `node healthz-poll.ts
 * MILLISECONDS`
 */
import { setTimeout as sleep } from "node:timers/promises";
// Over a bare socket: with node:http the instrument would take a tenth of a processor from what it
// measures.
import { askHealthz } from "#agent/observe/healthz.ts";

const every = Number(process.argv[2]);
let last = "";
for (;;) {
  const asked = Date.now();
  const now = (await askHealthz(10248)) ? "up" : "down";
  // An answer is one of the moment in which it was asked for, or came.
  if (now !== last) process.stdout.write(`${now} ${now === "up" ? Date.now() : asked}\n`);
  last = now;
  await sleep(every);
}

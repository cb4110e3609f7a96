/**
 * A process of its own inside a node's network: asks the kubelet's healthz every few milliseconds and writes a line
 * `up TIME` or `down TIME` when the answer changes. `node healthz-poll.ts MILLISECONDS`
 */
import { request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

const every = Number(process.argv[2]);
let last = "";
for (;;) {
  const asked = Date.now();
  const now = (await answers()) ? "up" : "down";
  // An answer is one of the moment in which it was asked for, or came.
  if (now !== last) process.stdout.write(`${now} ${now === "up" ? Date.now() : asked}\n`);
  last = now;
  await sleep(every);
}

function answers(): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const signal = AbortSignal.timeout(1000);
  const asking = request({ host: "127.0.0.1", port: 10248, path: "/healthz", agent: false, signal }, (response) => {
    resolve(response.statusCode === 200);
    response.resume();
  });
  asking.on("error", () => resolve(false));
  asking.end();
  return promise;
}

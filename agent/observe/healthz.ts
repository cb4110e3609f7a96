/** Asks the kubelet: `GET http://127.0.0.1:10248/healthz`, which only a started kubelet answers. */
import { connect } from "node:net";
import { auto } from "#contract/values.ts";

/** Longer than the kubelet's status line and headers; what comes after is not read. */
const mostBytes = 1024;

/** Where a kubelet may listen that is not told otherwise; k3s with IPv6 first listens on ::1. */
const loopbacks = ["127.0.0.1", "::1"];

/**
 * Whether healthz answers 200 at the address, which `auto` leaves open. Never throws.
 */
export async function askHealthz(port: number, address = auto): Promise<boolean> {
  const hosts = address === auto ? loopbacks : [address];
  for (const host of hosts) if (await askAt(host, port)) return true;
  return false;
}

/**
 * Whether healthz answers 200 within two seconds. Over a bare socket: node:http takes
 * a fifth of the agent's start and 2 MiB (docs/inside/decisions/agent-cost.md), for a status line.
 */
function askAt(host: string, port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ host, port, signal: AbortSignal.timeout(2000) });
  let answer = "";
  const judge = () => resolve(/^HTTP\/1\.[01] 200[ \r]/.test(answer));
  socket.setEncoding("latin1").on("data", (text: string) => {
    answer += text;
    if (answer.includes("\r\n") || answer.length > mostBytes) socket.destroy();
  });
  socket.on("error", () => {});
  socket.on("close", judge);
  socket.write("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
  return promise;
}

/** A port of the loopback that nobody listens on. */
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Below the ports that kernels give to outgoing connections, or one of these may take it before the
 * program that it is for listens. Processes begin at different ones.
 */
const first = 10_000;
const count = 20_000;
let next = (process.pid * 37) % count;

export async function freePort(): Promise<number> {
  const port = first + next;
  next = (next + 1) % count;
  const server = createServer().listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch {
    return await freePort();
  }
  await server[Symbol.asyncDispose]();
  return port;
}

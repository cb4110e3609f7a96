/** Finds a port of 127.0.0.1 on which no program listens. */
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * All ports are below those that kernels give to outgoing connections, because an outgoing
 * connection could take the port before the test's program listens. Each process begins at another
 * port.
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

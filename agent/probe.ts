/**
 * Readiness on the node's loopback, and with it the lock: agents run in the host's network, so only one process of a node
 * can have the port. The lock dies with its holder, needs no file, and cannot be left behind. An agent that does not get it
 * (a surge, a pod that was deleted by force and still runs) touches nothing.
 *
 * HTTP by hand, as much as a probe needs: node:http costs twice the CPU at a probe a second, and a fifth of the start
 * (docs/decisions/0007).
 */
import { once } from "node:events";
import { BoundSocket, createServer, type Server, type Socket } from "node:net";
import { hasCode } from "./errno.ts";

export type Readiness = Readonly<{ ready: boolean; line: string }>;

export type Probe = Readonly<{
  /** Tries to become the node's only agent; true once it is, false while somebody else has the port. Throws where no try can help. */
  acquire(): Promise<boolean>;
  /** Whether the kubelet has asked since this was last called: nobody else names our revision. */
  asked(): boolean;
  close(): void;
}>;

/** The kubelet's request has 200 bytes. Whoever sends more is cut off. */
const mostBytes = 4096;
/**
 * The kubelet makes a new connection for each probe; nothing else has business here. Each one cuts off the sixteenth before it:
 * whoever stays silent cannot keep the others out, and no probe needs a timer, which would be a quarter of its cost.
 */
const mostConnections = 16;

/**
 * `GET /readyz` answers 200 or 503 with one line. With `?revision=N` it answers 503 for any other revision than ours: the
 * kubelet's probe of a waiting pod reaches the agent that holds the port, which must not speak for the other.
 */
export function probeOn(port: number, revision: number, readiness: () => Readiness): Probe {
  const recent: Socket[] = [];
  let asked = false;
  const answerTo = (request: string): string => {
    const [found, named] = /^GET \/readyz(?:\?revision=(\d+))? HTTP\/1\.[01]\r\n/.exec(request) ?? [];
    if (found === undefined) return answer("404 Not Found", "ask /readyz");
    if (named !== undefined && named !== String(revision))
      return answer("503 Service Unavailable", `this agent serves revision ${revision}`);
    asked ||= named !== undefined;
    const { ready, line } = readiness();
    return answer(ready ? "200 OK" : "503 Service Unavailable", line);
  };
  const server = createServer((socket) => {
    recent.push(socket.on("error", () => {}));
    if (recent.length > mostConnections) recent.shift()?.destroy();
    let request = "";
    socket.on("data", (bytes: Buffer) => {
      request += bytes.toString("latin1");
      // To the end of the headers: closing with unread bytes would reset the connection under the answer.
      const whole = request.includes("\r\n\r\n");
      if (!whole && request.length <= mostBytes) return;
      // So little is the kernel's as soon as it is written. `end` would wait for the other side: a sixth of a probe.
      if (whole) socket.write(answerTo(request));
      socket.destroy();
    });
  });
  server.on("error", () => {});
  let held = false;
  return {
    acquire: async () => (held ||= await listens(server, port)),
    asked: () => {
      const was = asked;
      asked = false;
      return was;
    },
    close: () => {
      server.close();
      for (const socket of recent) socket.destroy();
    },
  };
}

/** False where the port is taken. Two may be bound to it, one of them can listen. */
async function listens(server: Server, port: number): Promise<boolean> {
  try {
    // `listen` with a host would look the address up as a name: 7 ms of a start.
    server.listen(new BoundSocket({ host: "127.0.0.1", port }));
    await once(server, "listening");
    return true;
  } catch (error) {
    if (hasCode(error, "EADDRINUSE")) return false;
    throw error;
  }
}

/** It ends with the connection. */
function answer(status: string, line: string): string {
  return `HTTP/1.1 ${status}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n${line}\n`;
}

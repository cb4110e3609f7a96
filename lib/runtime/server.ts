/** The port for /healthz, /readyz and /metrics. */
import { createServer, type Server } from "node:http";
import type { Registry } from "prom-client";

export type Health = Readonly<{
  /** Why the process should be restarted; undefined if it is healthy. */
  sick: () => string | undefined;
  /** Whether this process is ready. `reason` shows people what the process does or waits for. */
  ready: () => Readonly<{ ready: boolean; reason: string }>;
}>;

type Answer = Readonly<{ status: number; body: string; type?: string }>;

/** Resolves when the port is open; rejects if the port cannot be opened. */
export async function serve(
  listen: { host: string; port: number },
  health: Health,
  metrics: Registry,
): Promise<Server> {
  const server = createServer((request, response) => {
    void answer(request.url ?? "", health, metrics)
      // A gauge that throws must not end the program.
      .catch((): Answer => ({ status: 500, body: "the answer could not be created\n" }))
      .then(({ status, body, type }) => {
        response.writeHead(status, { "Content-Type": type ?? "text/plain" }).end(body);
      });
  });
  server.requestTimeout = 10_000;
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(listen.port, listen.host || undefined, () => resolve(server));
  });
}

async function answer(url: string, health: Health, metrics: Registry): Promise<Answer> {
  switch (url.split("?")[0]) {
    case "/healthz": {
      const sick = health.sick();
      return { status: sick === undefined ? 200 : 500, body: `${sick ?? "ok"}\n` };
    }
    case "/readyz": {
      const { ready, reason } = health.ready();
      return { status: ready ? 200 : 503, body: `${reason}\n` };
    }
    case "/metrics":
      return { status: 200, body: await metrics.metrics(), type: metrics.contentType };
    default:
      return { status: 404, body: "paths: /healthz, /readyz and /metrics\n" };
  }
}

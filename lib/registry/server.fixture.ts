/** For tests: a local HTTP server with the given answers. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** The types of manifests by their specifications: of an image, and of a list of images. */
const manifests = ["oci.image.manifest.v1", "oci.image.index.v1"].concat(
  ["manifest.v2", "manifest.list.v2"].map((type) => `docker.distribution.${type}`),
);

export type ReceivedRequest = Readonly<{
  method: string;
  url: string;
  authorization: string;
}>;

export type ServedRegistry = Readonly<{ host: string; asked: readonly ReceivedRequest[] }> &
  AsyncDisposable;

/** `host` is HOST:PORT. `asked` collects the requests. */
export async function serve(
  answer: (asked: ReceivedRequest, response: ServerResponse, host: string) => void,
): Promise<ServedRegistry> {
  const asked: ReceivedRequest[] = [];
  const server = createServer((request: IncomingMessage, response) => {
    const { method = "", url = "", headers } = request;
    // As firewalls of some registries do.
    if (headers["user-agent"] === undefined) return respond(response, 403);
    // As registries do for a manifest of a type that the request does not accept.
    const isAccepted = (type: string) => headers.accept?.includes(`application/vnd.${type}+json`);
    if (url.includes("/manifests/") && !manifests.every(isAccepted)) return respond(response, 404);
    const received = { method, url, authorization: headers.authorization ?? "" };
    asked.push(received);
    answer(received, response, host);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    host,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

export function respond(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>> = {},
  body = "",
): void {
  response.writeHead(status, headers).end(body);
}

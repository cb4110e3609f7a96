/** A token service in front of the public registry, as Docker Hub and GHCR have one. */
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export type TokenGateway = Readonly<{
  address: string;
  /** The password of user `robot`. */
  password: string;
  /** Whether everybody can pull, with a token for nobody. It refuses a wrong password even then. */
  isPublic: boolean;
  /** The users for whom tokens were requested; empty for nobody. A denied request has a `!`. */
  asked: string[];
  /** Requests with a token are answered after this. */
  opening: Promise<void>;
  /** How many requests with a token have come. */
  admitted: number;
}>;

/** Serves the images of `upstream` (HOST:PORT), at an address of `host`, until `signal` aborts. */
export async function tokenGateway(
  upstream: string,
  host: string,
  signal: AbortSignal,
): Promise<{ -readonly [Key in keyof TokenGateway]: TokenGateway[Key] }> {
  const gateway = {
    address: "",
    password: "first",
    isPublic: false,
    asked: [] as string[],
    opening: Promise.resolve(),
    admitted: 0,
  };
  const server = createServer((incoming, response) => {
    if (incoming.url?.startsWith("/token")) return giveToken(incoming, response, gateway);
    if (incoming.headers.authorization === "Bearer t0ken") {
      gateway.admitted += 1;
      return void gateway.opening.then(() => forward(upstream, incoming, response));
    }
    const realm = `http://${gateway.address}/token`;
    response.setHeader("WWW-Authenticate", `Bearer realm="${realm}",service="gateway"`);
    response.writeHead(401).end();
  });
  await new Promise<void>((resolve) => void server.listen({ port: 0, host, signal }, resolve));
  gateway.address = `${host}:${(server.address() as AddressInfo).port}`;
  return gateway;
}

function giveToken(
  { method, headers }: IncomingMessage,
  response: ServerResponse,
  { asked, password, isPublic }: TokenGateway,
): void {
  const basic = headers.authorization?.replace("Basic ", "") ?? "";
  const [user = "", given] = Buffer.from(basic, "base64").toString().split(":");
  const isAllowed = basic === "" ? isPublic : user === "robot" && given === password;
  // As many token services, it has no OAuth endpoint.
  if (method !== "GET") return void response.writeHead(404).end();
  asked.push(isAllowed ? user : `${user}!`);
  if (!isAllowed) return void response.writeHead(401).end();
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ token: "t0ken" }));
}

function forward(upstream: string, incoming: IncomingMessage, response: ServerResponse): void {
  const [host = "", port = ""] = upstream.split(":");
  const { method, url: path } = incoming;
  const { authorization: _authorization, ...headers } = incoming.headers;
  const outgoing = request({ host, port, method, path, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  outgoing.on("error", () => response.destroy());
  incoming.pipe(outgoing);
}

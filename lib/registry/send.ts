/** Sends one request to a registry or its token service, within bounds. */
import type { IncomingMessage } from "node:http";
import { BlockList } from "node:net";
import { urlOf } from "./challenge.ts";

export type RegistryAnswer = Readonly<{
  status: number;
  /** The header WWW-Authenticate. Empty if there is none. */
  challenge: string;
  /** The first `longest` bytes of the body. */
  body: string;
}>;

/** `milliseconds`: ends a connection to a proxy that does not answer, which ignores the signal. */
export type Limit = Readonly<{ signal: AbortSignal; milliseconds: number }>;

type Request = Readonly<{
  method: "GET" | "HEAD";
  url: URL;
  /** The Authorization header. */
  authorization?: string;
  limit: Limit;
}>;

/**
 * Maximum number of redirects that we follow. A registry can redirect to a path with a slash at its
 * end, or to another version of its API. The limit ends a loop of redirects.
 */
const mostRedirects = 5;

/**
 * Maximum number of bytes that we read of an answer. The longest tokens in use have about 10 KiB.
 */
const longest = 256 * 1024;

/**
 * Addresses that are never reached, such as a cloud's metadata service: anyone who may write a
 * source can name a host. A proxy resolves names itself, so it has to refuse these addresses.
 */
const linkLocal = new BlockList();
linkLocal.addSubnet("169.254.0.0", 16, "ipv4");
linkLocal.addSubnet("fe80::", 10, "ipv6");

/**
 * All types of manifests, as container runtimes send them. A registry answers 404 for a manifest of
 * a type that the request does not accept.
 */
const manifests = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
  "application/vnd.docker.distribution.manifest.v2+json",
  "*/*",
].join(", ");

/**
 * Sends the request. Follows redirects only to the same origin, because the pull secret names no
 * other origin, and an answer of another origin is not the registry's answer. Rejects with
 * Unreachable.
 */
export async function send(request: Request): Promise<RegistryAnswer> {
  let { url } = request;
  for (let redirects = 0; redirects <= mostRedirects; redirects += 1) {
    const { location, ...answer } = await sendOnce({ ...request, url });
    if (location === undefined) return answer;
    const next = urlOf(location, url);
    if (next?.origin !== url.origin)
      throw new Unreachable("redirects to another host, which gets no credential");
    url = next;
  }
  throw new Unreachable("redirects again and again");
}

async function sendOnce({ method, url, authorization, limit }: Request) {
  const { signal, milliseconds: timeout } = limit;
  const isSecure = url.protocol === "https:";
  const connection = { proxyEnv: process.env, blockList: linkLocal };
  // Firewalls of some registries answer 403 to a request without a user agent.
  const headers = {
    accept: manifests,
    "user-agent": "global-pull-secret",
    ...(authorization !== undefined && { authorization }),
  };
  try {
    // Loaded here, because most runs of the plugin send no request, and node:http also loads
    // undici.
    const { Agent, request } = await (isSecure ? import("node:https") : import("node:http"));
    const agent = new Agent(connection);
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      request(url, { method, headers, agent, signal, timeout })
        .on("response", resolve)
        .on("error", reject)
        // After an answer 101, this is the only event.
        .on("close", () => reject(new Unreachable("does not answer in HTTP")))
        .end();
    });
    const { statusCode: status = 0, headers: received } = response;
    const isRedirect = status >= 300 && status < 400;
    return {
      status,
      challenge: received["www-authenticate"] ?? "",
      location: isRedirect ? received.location : undefined,
      body: await beginningOf(response),
    };
  } catch (error) {
    throw reasonOf(error);
  }
}

async function beginningOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length >= longest) break;
  }
  return Buffer.concat(chunks).subarray(0, longest).toString("utf8");
}

export class Unreachable extends Error {
  override readonly name = "Unreachable";
  /** True if the host answers, but does not speak TLS. */
  readonly withoutTls: boolean;
  constructor(why: string, withoutTls = false) {
    super(why);
    this.withoutTls = withoutTls;
  }
}

const connections: Readonly<Record<string, string>> = {
  ENOTFOUND: "DNS has no such name",
  EAI_AGAIN: "DNS does not answer",
  ECONNREFUSED: "refuses the connection",
  ECONNRESET: "ends the connection",
  EHOSTUNREACH: "no route to the host",
  ENETUNREACH: "no route to the host",
  ERR_IP_BLOCKED: "has a link-local address, which is never asked",
  ERR_PROXY_INVALID_CONFIG: "the address of the proxy is not valid",
  ERR_PROXY_TUNNEL: "the proxy does not connect to it",
  ETIMEDOUT: "no answer in time",
};

/**
 * Finds the reason from the code of the error with which the request failed. We do not use the
 * error's message, because it can quote the answer.
 */
export function reasonOf(error: unknown): Unreachable {
  if (error instanceof Unreachable) return error;
  const { code = "" } = error as NodeJS.ErrnoException;
  const reason = connections[code];
  if (reason !== undefined) return new Unreachable(`${reason} (${code})`);
  if (/^(?:ERR_SSL_|EPROTO)/.test(code))
    return new Unreachable(`does not speak TLS (${code})`, true);
  if (/CERT|SIGNATURE|TLS/.test(code))
    return new Unreachable(`TLS: its certificate is not trusted here (${code})`);
  return new Unreachable(`does not answer in HTTP (${code || "unknown error"})`);
}

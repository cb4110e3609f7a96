/** Sends one request to a registry or its token service. Limits the length of the answer. */

import { reasonOf, Unreachable } from "./unreachable.ts";

export type RegistryAnswer = Readonly<{
  status: number;
  /** The header WWW-Authenticate. Empty if there is none. */
  challenge: string;
  /** The first `longest` bytes of the body. */
  body: string;
}>;

type Question = Readonly<{
  url: URL;
  /** The Authorization header. */
  authorization?: string;
  signal: AbortSignal;
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
 * Sends the request. Follows redirects only to the same origin, because the pull secret names no
 * other origin, and an answer of another origin is not the registry's answer. Rejects with
 * Unreachable.
 */
export async function ask({ url, authorization, signal }: Question): Promise<RegistryAnswer> {
  const headers = authorization === undefined ? {} : { authorization };
  try {
    let at = url;
    for (let redirects = 0; redirects <= mostRedirects; redirects += 1) {
      const response = await fetch(at, { headers, signal, redirect: "manual" });
      const { status } = response;
      const location = status >= 300 && status < 400 && response.headers.get("location");
      if (typeof location !== "string") {
        const challenge = response.headers.get("www-authenticate") ?? "";
        return { status, challenge, body: await beginningOf(response) };
      }
      await response.body?.cancel();
      const next = urlOf(location, at);
      if (next?.origin !== url.origin)
        throw new Unreachable("redirects to another host, which gets no credential");
      at = next;
    }
    throw new Unreachable("redirects again and again");
  } catch (error) {
    throw error instanceof Unreachable ? error : reasonOf(error);
  }
}

/** Parses a URL. Undefined if the text is not a URL. Node.js 20 has no URL.parse. */
export function urlOf(text: string, base?: URL): URL | undefined {
  return URL.canParse(text, base?.href) ? new URL(text, base) : undefined;
}

async function beginningOf({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    length += chunk.length;
    if (length >= longest) break;
  }
  return Buffer.concat(chunks).subarray(0, longest).toString("utf8");
}

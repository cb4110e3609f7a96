/** One question to a registry or its token service, bounded in time and length. */

import { reasonOf, Unreachable } from "./unreachable.ts";

export type RegistryAnswer = Readonly<{
  status: number;
  /** WWW-Authenticate; empty where there is none. */
  challenge: string;
  /** The beginning of the body, as long as `longest`. */
  body: string;
}>;

type Question = Readonly<{
  url: URL;
  /** The Authorization header. */
  authorization?: string;
  signal: AbortSignal;
}>;

/**
 * Maximum number of redirects followed. A registry may add a slash to the path, or lead to its
 * version of the API; a loop would not end.
 */
const mostRedirects = 5;

/** Maximum number of bytes read of an answer. The longest tokens in use have some 10 KiB. */
const longest = 256 * 1024;

/**
 * Follows redirects of the same origin. Another origin gets no request, because the pull secret
 * does not name it, and its answer would not be the registry's. Rejects with Unreachable.
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
        throw new Unreachable("redirects to another host, which is told no credential");
      at = next;
    }
    throw new Unreachable("redirects again and again");
  } catch (error) {
    throw error instanceof Unreachable ? error : reasonOf(error);
  }
}

/** Parses a URL; undefined for a text that is none. Node 20 has no URL.parse. */
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

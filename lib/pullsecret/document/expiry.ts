/** When a credential expires, if the credential contains the time. Pure: no network request. */
import { Buffer } from "node:buffer";
import type { Credential } from "./auth.ts";

/** Maximum length of a password in which we search for a time. */
const longest = 64 * 1024;

/** Seconds since 1970 that stand for a time from 2001 to 2286. */
const seconds = /^[1-9]\d{9}$/;

/**
 * The time at which the password expires: `exp` of a JWT (RFC 7519), `expiration` of a token of
 * Amazon ECR. Undefined for every other password. The time is not verified, so it is only shown to
 * people and never refuses anything.
 */
export function expiryOf({ password }: Credential): Date | undefined {
  if (password.length > longest) return undefined;
  const [, payload] = /^eyJ[\w-]+\.([\w-]+)\.[\w-]*$/.exec(password.trim()) ?? [];
  const time =
    payload === undefined
      ? memberOf(Buffer.from(password, "base64"), "expiration")
      : memberOf(Buffer.from(payload, "base64url"), "exp");
  return seconds.test(String(time)) ? new Date(Number(time) * 1000) : undefined;
}

function memberOf(json: Buffer, name: string): unknown {
  // Most passwords are not base64 of an object, and an error for each would take 10 µs in each run.
  if (json[0] !== 0x7b) return undefined;
  try {
    return (JSON.parse(json.toString("utf8")) as Record<string, unknown>)[name];
  } catch {
    return undefined;
  }
}

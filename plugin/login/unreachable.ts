/** Thrown if a registry does not give a usable answer. The message does not quote the answer. */

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
  UND_ERR_SOCKET: "ends the connection",
  EHOSTUNREACH: "no route to the host",
  ENETUNREACH: "no route to the host",
  ETIMEDOUT: "no answer in time",
  UND_ERR_CONNECT_TIMEOUT: "no answer in time",
};

/**
 * Finds the reason from the code of the error with which fetch failed. We do not use the error's
 * message, because it can quote the request.
 */
export function reasonOf(error: unknown): Unreachable {
  if (error instanceof Error && error.name === "TimeoutError")
    return new Unreachable("no answer in time");
  const { code = "" } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException;
  const known = connections[code];
  if (known !== undefined) return new Unreachable(`${known} (${code})`);
  if (/^(?:ERR_SSL_|EPROTO)/.test(code))
    return new Unreachable(`does not speak TLS (${code})`, true);
  if (/CERT|SIGNATURE|TLS/.test(code))
    return new Unreachable(`TLS: its certificate is not trusted here (${code})`);
  return new Unreachable(`does not answer in HTTP (${code || "unknown error"})`);
}

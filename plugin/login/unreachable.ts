/** Why a registry gives no usable answer. The text quotes nothing of the answer. */

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
  ENOTFOUND: "DNS knows no such name",
  EAI_AGAIN: "DNS does not answer",
  ECONNREFUSED: "refuses the connection",
  ECONNRESET: "ends the connection",
  UND_ERR_SOCKET: "ends the connection",
  EHOSTUNREACH: "no way leads there",
  ENETUNREACH: "no way leads there",
  ETIMEDOUT: "no answer in time",
  UND_ERR_CONNECT_TIMEOUT: "no answer in time",
};

/**
 * The reason, by the code of the error that caused fetch to fail. The error's own words may quote
 * what was sent.
 */
export function reasonOf(error: unknown): Unreachable {
  if (error instanceof Error && error.name === "TimeoutError")
    return new Unreachable("no answer in time");
  const { code = "" } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException;
  const known = connections[code];
  if (known !== undefined) return new Unreachable(`${known} (${code})`);
  if (/^(?:ERR_SSL_|EPROTO)/.test(code)) return new Unreachable(`speaks no TLS (${code})`, true);
  if (/CERT|SIGNATURE|TLS/.test(code))
    return new Unreachable(`TLS: its certificate is not trusted here (${code})`);
  return new Unreachable(`gives no answer that is HTTP (${code || "unknown error"})`);
}

/** How to connect to one cluster: everything that we take from a kubeconfig. */
import { inspect } from "node:util";

/** The credential of a request: a token, or a client certificate and its key. */
export type AccessProof = Readonly<{ token?: string; certificate?: string; key?: string }>;

/** Access to one cluster. Printing this object never shows its credential. */
export class Access {
  readonly server: string;
  /**
   * Certificates of the authority, as base64 of PEM, like `certificate` and `key` of the
   * credential. Undefined: the roots that this machine trusts.
   */
  readonly authority: string | undefined;
  readonly serverName: string | undefined;
  readonly #proof: AccessProof;

  constructor(
    { server, authority, serverName }: Pick<Access, "server" | "authority" | "serverName">,
    proof: AccessProof,
  ) {
    this.server = server;
    this.authority = authority;
    this.serverName = serverName;
    this.#proof = proof;
  }

  /** The credential, only for the connection. */
  get proof(): AccessProof {
    return this.#proof;
  }

  /**
   * Identifies the cluster. Another server or authority means another cluster. A renewed credential
   * does not.
   */
  get place(): string {
    return JSON.stringify([this.server, this.serverName ?? "", this.authority ?? ""]);
  }

  toString(): string {
    return `Access to ${this.server}`;
  }

  toJSON(): string {
    return this.toString();
  }

  [inspect.custom](): string {
    return this.toString();
  }
}

/** How to connect to one cluster: all that is taken from a kubeconfig. */
import { inspect } from "node:util";

/** What a request proves itself with. */
export type Proof = Readonly<{ token?: string; certificate?: string; key?: string }>;

/** Prints nothing of its proof, whatever it is printed with. */
export class Access {
  readonly server: string;
  /** Base64 of PEM, as the other two of its kind. */
  readonly authority: string;
  readonly serverName: string | undefined;
  readonly #proof: Proof;

  constructor(
    { server, authority, serverName }: Pick<Access, "server" | "authority" | "serverName">,
    proof: Proof,
  ) {
    this.server = server;
    this.authority = authority;
    this.serverName = serverName;
    this.#proof = proof;
  }

  /** For the connection alone. */
  get proof(): Proof {
    return this.#proof;
  }

  /**
   * Tells a cluster from any other: a credential may be renewed, but who may speak for another
   * server is another cluster.
   */
  get place(): string {
    return JSON.stringify([this.server, this.serverName ?? "", this.authority]);
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

/**
 * One object as its watch last showed it; reading it costs no request. Writes based on it carry its
 * resourceVersion, so a stale read fails with 409. While its watch is broken, or has not shown our
 * last write yet, it answers nothing, and the API server must be asked.
 */
import type { KubernetesObject } from "@kubernetes/client-node";

/** An object, or that there is none, as of a version. */
type State = Readonly<{ object: KubernetesObject | undefined; version: bigint }>;

export class Informer {
  /** undefined while no watch tells. */
  #state: State | undefined;
  /** Something was written of which the watch may not have told yet. */
  #doubted = false;

  /**
   * What there is, when the informer may be believed; else, whether a list or only a plain read can
   * tell.
   */
  get shown(): State | "list" | "read" {
    if (this.#state === undefined) return "read";
    return this.#doubted ? "list" : this.#state;
  }

  /**
   * A list: true whatever was seen before, also when versions went back because etcd was restored.
   */
  listed(object: KubernetesObject | undefined, version: string): void {
    this.#state = { object, version: BigInt(version) };
  }

  /**
   * An event of the watch that began at the last list; `object` is undefined when it was deleted in
   * that version.
   */
  heard(object: KubernetesObject | undefined, version: string): void {
    if (this.#state !== undefined && BigInt(version) > this.#state.version)
      this.listed(object, version);
  }

  /** The watch is over, however it ended. */
  lost(): void {
    this.#state = undefined;
  }

  /**
   * The API server's reply to a write of ours. The watch may still tell of older versions; they are
   * not listened to.
   */
  wrote(object: KubernetesObject): void {
    const version = object.metadata?.resourceVersion;
    // A list that is on its way may be older than this reply.
    if (this.#state === undefined || version === undefined) this.doubt();
    else this.heard(object, version);
  }

  /**
   * A write whose outcome is not known, or that was refused, or a deletion, which has no reply that
   * shows what is left.
   */
  doubt(): void {
    this.#doubted = true;
  }

  /**
   * A list that was asked for after the doubt. Events from before it may still come; they are not
   * listened to.
   */
  relisted(object: KubernetesObject | undefined, version: string): void {
    if (this.#state === undefined) return;
    this.heard(object, version);
    this.#doubted = false;
  }
}

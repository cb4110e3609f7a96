/**
 * One object as its watch last showed it, read without a request. Writes based on it carry its
 * resourceVersion, so a stale read fails with 409. While its watch is broken, or has not shown our
 * last write yet, it does not answer, and the API server must be asked.
 */
import type { KubernetesObject } from "@kubernetes/client-node";

/** An object, or its absence, as of a version. */
type State = Readonly<{ object: KubernetesObject | undefined; version: bigint }>;

export class Informer {
  /** Undefined while there is no watch. */
  #state: State | undefined;
  /** How many doubts there were, and how many of them a list has answered. */
  #doubts = 0;
  #answered = 0;

  /**
   * The object, while the informer is up to date; otherwise whether a list or only a plain read can
   * tell.
   */
  get shown(): State | "list" | "read" {
    if (this.#state === undefined) return "read";
    return this.doubted ? "list" : this.#state;
  }

  /** True while nothing has shown what our last write left, whether there is a watch or not. */
  get doubted(): boolean {
    return this.#doubts > this.#answered;
  }

  /**
   * To be read before a list is asked for, and given back with its answer: of these doubts the list
   * is the end, of later ones it is not.
   */
  get doubts(): number {
    return this.#doubts;
  }

  /**
   * Takes a list, which is true whatever was seen before. It holds even when versions went back
   * because etcd was restored.
   */
  listed(object: KubernetesObject | undefined, version: string, asked = 0): void {
    this.#state = { object, version: numberOf(version) };
    this.#answered = Math.max(this.#answered, asked);
  }

  /**
   * Takes an event of the watch that began at the last list. `object` is undefined when it was
   * deleted in that version.
   */
  heard(object: KubernetesObject | undefined, version: string): void {
    if (this.#state !== undefined && numberOf(version) > this.#state.version)
      this.listed(object, version);
  }

  /** Takes the end of the watch, however it ended. */
  lost(): void {
    this.#state = undefined;
  }

  /**
   * Takes the API server's reply to a write of ours. Events of older versions may still come, and
   * are ignored.
   */
  wrote(object: KubernetesObject): void {
    const version = object.metadata?.resourceVersion;
    // A list that is under way may be older than this reply.
    if (this.#state === undefined || version === undefined) this.doubt();
    else this.heard(object, version);
  }

  /**
   * Takes a write that was refused or whose outcome is unknown, or a deletion, whose reply does not
   * show what is left.
   */
  doubt(): void {
    this.#doubts += 1;
  }

  /**
   * Takes a list that was asked for beside the watch, after so many doubts. Events from before it
   * may still come, and are ignored.
   */
  relisted(object: KubernetesObject | undefined, version: string, asked: number): void {
    if (this.#state === undefined) return;
    this.heard(object, version);
    this.#answered = Math.max(this.#answered, asked);
  }
}

/** Versions have 20 digits at most; to read a million of them takes seconds. */
function numberOf(version: string): bigint {
  if (!/^\d{1,20}$/.test(version)) throw new Error("a resourceVersion is no number");
  return BigInt(version);
}

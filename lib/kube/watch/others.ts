/**
 * A collection whose objects another party writes, such as a tenant or a management cluster. We
 * keep named fields of the metadata only, and limit what one object, their number and their changes
 * can cost. Everything beyond is left out and reported.
 */
import type { KubernetesObject, V1ObjectMeta } from "@kubernetes/client-node";
import type { Cluster } from "#kube/client/cluster.ts";
import { followCollection } from "./collection.ts";
import { CollectionInformer } from "./informer.ts";

/**
 * How many values of JSON a page of metadata has at most; they take 2 MiB when they are parsed. An
 * object has about 40. An object whose metadata alone has more is left out.
 */
const mostValues = 20_000;

/** How many objects are kept. Each takes about 500 bytes. */
const mostObjects = 10_000;

/**
 * What a watch can send. A burst has room for three changes of each of 10,000 objects, as when a
 * backup is restored. A MiB takes at most 80 ms of processor time, so a party that never pauses
 * uses 8 % of a processor.
 */
const bounds = {
  events: { perSecond: 200, atOnce: 3 * mostObjects },
  bytes: { perSecond: 1024 * 1024, atOnce: 64 * 1024 * 1024 },
};

/** `large`: the metadata of the named object. `many`: so many objects. `fast`: the changes. */
export type Excess =
  | Readonly<{ is: "large"; name: string }>
  | Readonly<{ is: "many"; count: number }>
  | Readonly<{ is: "fast" }>;

type Options = Readonly<{
  cluster: Cluster;
  path: string;
  /** The metadata to keep. */
  keep: (object: KubernetesObject) => V1ObjectMeta;
  exceeded: (excess: Excess) => void;
}>;

const keyOf = ({ metadata }: KubernetesObject): string =>
  `${metadata?.namespace ?? ""}/${metadata?.name ?? ""}`;

export class OthersObjects {
  readonly #options: Options;
  readonly #informer: CollectionInformer<V1ObjectMeta>;
  #isFollowed = false;
  /** False after a list that left something out, and once a watch or its list did. */
  #isWhole = true;

  constructor(options: Options) {
    this.#options = options;
    this.#informer = new CollectionInformer(options.keep, { keyOf, most: mostObjects });
  }

  /**
   * The kept metadata of all objects. Undefined while a watch begins. Without a watch, they are
   * listed now. Rejects with the error of the list or the watch.
   */
  async all(): Promise<readonly V1ObjectMeta[] | undefined> {
    if (!this.#isFollowed) return await this.#list();
    const { synced, items, failure } = this.#informer.view;
    if (synced) return [...items.values()];
    if (failure !== undefined) throw failure;
    return undefined;
  }

  /** False if something is left out, so an object that `all` does not show can exist. */
  get isWhole(): boolean {
    return this.#isWhole && this.#informer.cut === 0;
  }

  /** Follows the collection until `signal` aborts. Never rejects. */
  async until(
    watched: Readonly<{ hint: () => void; failed: (error: Error) => void; signal: AbortSignal }>,
  ): Promise<void> {
    const { cluster, path, exceeded } = this.#options;
    this.#isFollowed = true;
    await followCollection({
      ...watched,
      ...this.#limits,
      cluster,
      path,
      query: {},
      informer: this.#informer,
      bounds,
      exceeded: () => exceeded({ is: "fast" }),
      hint: () => {
        const { cut } = this.#informer;
        if (cut > 0) exceeded({ is: "many", count: mostObjects + cut });
        watched.hint();
      },
      failed(error) {
        watched.failed(error);
        // While the collection cannot be read, the next run reports it.
        watched.hint();
      },
    });
  }

  async #list(): Promise<readonly V1ObjectMeta[]> {
    const { cluster, path, keep, exceeded } = this.#options;
    const kept: V1ObjectMeta[] = [];
    let count = 0;
    this.#isWhole = true;
    const take = (page: readonly KubernetesObject[]) => {
      count += page.length;
      kept.push(...page.slice(0, mostObjects - kept.length).map((object) => keep(object)));
    };
    await cluster.pages<KubernetesObject>(path, {}, take, this.#limits);
    if (count > kept.length) {
      this.#isWhole = false;
      exceeded({ is: "many", count });
    }
    return kept;
  }

  get #limits() {
    const { exceeded } = this.#options;
    const skipped = (name: string) => {
      this.#isWhole = false;
      exceeded({ is: "large", name });
    };
    return { as: "metadata", mostValues, skipped } as const;
  }
}

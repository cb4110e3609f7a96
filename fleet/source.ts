/**
 * The source of one FleetSecret. We read it only by a list and a watch of this one name, because
 * these are the rights of the Role that names the sources. A read by name would also use the
 * ClusterRole, which allows to read every kubeconfig, and then anyone who may write a FleetSecret
 * could copy any Secret.
 */
import type { V1Secret } from "@kubernetes/client-node";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { secretsIn } from "#kube/client/paths.ts";
import { Informer } from "#kube/watch/informer.ts";
import { follow } from "#kube/watch/watch.ts";

/** The Secret, or that it does not exist; or why it cannot be read. */
export type SourceReading = "unknown" | Readonly<{ secret: V1Secret | undefined }> | Error;

type Options = Readonly<{
  home: Cluster;
  namespace: string;
  name: string;
  hint: () => void;
  failed: (error: Error) => void;
}>;

export class Source {
  readonly name: string;
  readonly #stop = new AbortController();
  #reading: SourceReading = "unknown";

  constructor({ home, namespace, name, hint, failed }: Options) {
    this.name = name;
    const informer = new Informer();
    void follow({
      cluster: home,
      target: { collection: secretsIn(namespace), name },
      informer,
      hint: () => {
        const { shown } = informer;
        if (typeof shown !== "string") this.#reading = { secret: shown.object as V1Secret };
        hint();
      },
      failed: (error) => {
        this.#failed(error);
        failed(error);
        hint();
      },
      signal: this.#stop.signal,
    });
  }

  get reading(): SourceReading {
    return this.#reading;
  }

  close(): void {
    this.#stop.abort();
  }

  /** A source that was read stays in force while the API server is away, but not without rights. */
  #failed(error: Error): void {
    const isKept = typeof this.#reading === "object" && "secret" in this.#reading;
    if (!isKept || isDenied(error)) this.#reading = error;
  }
}

const isDenied = (error: Error): boolean =>
  error instanceof ApiError && [401, 403].includes(error.status);

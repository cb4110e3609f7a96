/**
 * Watches each extra Secret while the policy names it. If the right to read a Secret is missing,
 * the controller polls this Secret slowly, because someone might grant the right later. Such a
 * Secret delays no other source.
 */
import type { V1Secret } from "@kubernetes/client-node";
import { namespace } from "#contract/names.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { Informer } from "#kube/watch/informer.ts";
import { collections } from "#kube/client/paths.ts";
import { follow } from "#kube/watch/watch.ts";
import type { ExtraSource } from "#controller/policy/policy.ts";
import { isReserved, ranked, extraInput, type ExtraInput } from "./input.ts";

export type Extras = Readonly<{
  /**
   * The Secrets of these sources, highest priority first. From now on only these Secrets are
   * watched. `fresh`: read from the API server, whatever a watch has shown. Never rejects.
   */
  read: (sources: readonly ExtraSource[], fresh?: boolean) => Promise<readonly ExtraInput[]>;
}>;

type Options = Readonly<{
  live: Cluster;
  hint: () => void;
  /** Called once for each new reason why a Secret cannot be watched. */
  failed: (name: string, error: Error) => void;
  now: () => Date;
  signal: AbortSignal;
}>;

type FollowedExtra = {
  readonly informer: Informer;
  readonly end: AbortController;
  /**
   * The last request that failed: whether the right is missing or there was no answer, and the time
   * before which we do not repeat the request.
   */
  refused: { reason: "forbidden" | "unknown"; until: number } | undefined;
};

/**
 * Seconds between two requests for an unreadable Secret. Without this pause, a rollout would cause
 * several requests a second.
 */
const pauseSeconds = 10;

export function followExtras({ live, hint, failed, now, signal }: Options): Extras {
  const followed = new Map<string, FollowedExtra>();

  function begin(name: string): FollowedExtra {
    const extra: FollowedExtra = {
      informer: new Informer(),
      end: new AbortController(),
      refused: undefined,
    };
    followed.set(name, extra);
    let lastError = "";
    void follow({
      cluster: live,
      target: { collection: collections.secrets, name },
      informer: extra.informer,
      hint,
      failed(error) {
        if (error.message !== lastError) failed(name, error);
        lastError = error.message;
        // A Secret that cannot be watched might be readable. The controller then polls this Secret
        // slowly.
        hint();
      },
      signal: AbortSignal.any([signal, extra.end.signal]),
    });
    return extra;
  }

  async function find(name: string, fresh: boolean): Promise<ExtraInput["lookup"]> {
    const extra = followed.get(name) ?? begin(name);
    const { shown } = extra.informer;
    if (!fresh && typeof shown === "object") return existing(shown.object);
    const time = now().getTime();
    if (extra.refused !== undefined && time < extra.refused.until) return extra.refused.reason;
    try {
      const secret = await live.get<V1Secret>(`${collections.secrets}/${name}`);
      extra.refused = undefined;
      return existing(secret);
    } catch (error) {
      const reason = error instanceof ApiError && error.status === 403 ? "forbidden" : "unknown";
      extra.refused = { reason, until: time + pauseSeconds * 1000 };
      return reason;
    }
  }

  return {
    async read(sources, fresh = false) {
      const names = new Set(sources.map(({ secretName }) => secretName));
      for (const [name, { end }] of followed) {
        if (names.has(name)) continue;
        end.abort();
        followed.delete(name);
      }
      return Promise.all(
        ranked(sources).map(async (source) => {
          const lookup = isReserved(source) ? "reserved" : await find(source.secretName, fresh);
          return extraInput(source.name, `${namespace}/${source.secretName}`, lookup);
        }),
      );
    },
  };
}

/** The Secret, or `absent` if its owner has deleted it and it only waits for a finalizer. */
function existing(secret: V1Secret | undefined): V1Secret | "absent" {
  return secret?.metadata?.deletionTimestamp === undefined ? (secret ?? "absent") : "absent";
}

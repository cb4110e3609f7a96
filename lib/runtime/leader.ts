/** Waits for the Lease, renews it, and releases it. The rules are in lease.ts. */
import type { V1Lease } from "@kubernetes/client-node";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import {
  afterConflict,
  heldBy,
  holds,
  lease,
  readLease,
  watch,
  type FoundLease,
  type WatchedLease,
} from "./lease.ts";
import { fieldManager } from "#kube/client/ownership.ts";

type Options = Readonly<{
  /** A client without informers, because we must always read the Lease from the API server. */
  cluster: Pick<Cluster, "get" | "apply">;
  path: string;
  /** Identity of this process, unique among all processes ever. */
  me: string;
  /** Clock in seconds that never goes back. */
  clock: () => number;
  now: () => Date;
  /** Never rejects, and ends early when `signal` aborts. */
  pause: (seconds: number, signal: AbortSignal) => Promise<void>;
  /** Called when the holder changes, with the new holder's name. */
  holder: (name: string) => void;
  /** Called when a check failed. */
  failed: (error: Error) => void;
  /**
   * Called when this process held the Lease and has lost it. The process must end before it does
   * anything else.
   */
  lost: (why: string) => void;
}>;

export type Leader = Readonly<{
  /** Resolves when the Lease is ours. */
  elected: Promise<void>;
  /** True while we are allowed to write; ask before each write. */
  holds: () => boolean;
  /** Runs until `signal` aborts, then releases the Lease. */
  until: (signal: AbortSignal) => Promise<void>;
}>;

export function createLeader({
  cluster,
  path,
  me,
  clock,
  now,
  pause,
  holder,
  failed,
  lost,
}: Options): Leader {
  const { promise: elected, resolve: elect } = Promise.withResolvers<void>();
  let role: "standby" | "leader" | "over" = "standby";
  let liveLease: FoundLease | undefined;
  let watched: WatchedLease | undefined;
  let renewed = 0;
  let lastHolder = "";

  const leaseName = path.slice(path.lastIndexOf("/") + 1);
  const options = { manager: fieldManager, force: true, seconds: lease.answer };
  const read = async () => {
    const live = await cluster.get<V1Lease>(path, { seconds: lease.answer });
    return live && readLease(live);
  };
  const write = async (holderName: string) =>
    readLease(
      await cluster.apply<V1Lease>(path, heldBy(holderName, liveLease, now(), leaseName), options),
    );

  function announce(name: string): void {
    if (name !== lastHolder) holder(name);
    lastHolder = name;
  }

  function end(why: string): void {
    if (role !== "leader") return;
    role = "over";
    lost(why);
  }

  function stillHolds(): boolean {
    if (role === "leader" && !holds(renewed, clock())) end(`not renewed for ${lease.deadline} s`);
    return role === "leader";
  }

  /**
   * Takes or renews the Lease. We count the Lease's time from before the request, because the API
   * server might have received the request at once.
   */
  async function take(): Promise<void> {
    const sent = clock();
    liveLease = await write(me);
    renewed = sent;
  }

  async function challenge(): Promise<number> {
    liveLease = await read();
    const { watched: seen, take: free, again } = watch(watched, liveLease, me, clock());
    watched = seen;
    if (!free) {
      announce(liveLease?.holder ?? "");
      return again;
    }
    await take();
    // The answer came too late to be sure that we hold the Lease. The next check decides.
    if (!holds(renewed, clock())) return lease.retry;
    role = "leader";
    announce(me);
    elect();
    return lease.renew;
  }

  async function renew(): Promise<number> {
    try {
      await take();
      return lease.renew;
    } catch (error) {
      if (!(error instanceof ApiError) || (error.status !== 409 && error.status !== 404))
        throw error;
      liveLease = await read();
      if (afterConflict(liveLease, me) === "renew") return 0.1;
      end(`taken by ${liveLease?.holder ?? ""}`);
      return lease.retry;
    }
  }

  return {
    elected,
    holds: stillHolds,
    async until(signal) {
      while (!signal.aborted && role !== "over") {
        let again: number = lease.retry;
        try {
          if (role === "standby") again = await challenge();
          else if (stillHolds()) again = await renew();
        } catch (error) {
          failed(error as Error);
        }
        await pause(again, signal);
      }
      if (!stillHolds()) return;
      role = "over";
      await write("").catch(() => {}); // the next holder waits until the Lease expires
    },
  };
}

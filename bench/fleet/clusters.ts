/**
 * The clusters of a fleet: ten with a real API server and etcd each, and many fake clusters that
 * one small server simulates.
 */
import type { V1Secret } from "@kubernetes/client-node";
import { fleetManager } from "#fleet/connection.ts";
import { auditEnd, auditOf } from "#test/cluster/audit.ts";
import { until } from "#test/cluster/await.ts";
import { startCluster } from "#test/cluster/cluster.ts";
import * as fleet from "#test/fleet/fleet.ts";
import type { FakeServer } from "#test/harness/api/server.ts";
import { secrets } from "../testbed/objects.ts";
import { WatchedObjects } from "../observe/watched-objects.ts";

/**
 * The number of real clusters that start at the same time. Each start keeps a CPU busy for some
 * seconds.
 */
const batch = 2;

export type RealGuest = fleet.GuestCluster &
  Readonly<{ name: string; target: WatchedObjects<V1Secret> }>;

/** The document of a pull secret, in base64. */
const contentOf = ({ data }: V1Secret): string | undefined => data?.[".dockerconfigjson"];

export class Clusters implements AsyncDisposable {
  readonly real: readonly RealGuest[];
  readonly faked: FakeServer;
  /** The real clusters come first. */
  readonly names: readonly string[];
  #ends: readonly number[];

  private constructor(real: readonly RealGuest[], faked: FakeServer, count: number) {
    this.real = real;
    this.faked = faked;
    this.names = Array.from({ length: count }, (_, index) => nameOf(index));
    this.#ends = this.#auditEnds();
  }

  /**
   * Starts `count` clusters, of which `real` are real, and declares all in the management cluster.
   * No FleetSecret selects them yet.
   */
  static async start(home: fleet.Home, count: number, real: number): Promise<Clusters> {
    const guests: RealGuest[] = [];
    for (let at = 0; at < real; at += batch) {
      const size = Math.min(batch, real - at);
      const names = Array.from({ length: size }, (_, index) => nameOf(at + index));
      guests.push(...(await Promise.all(names.map((name) => startReal(name)))));
    }
    const faked = await fleet.startFakes();
    const clusters = new Clusters(guests, faked, count);
    await fleet.declareGuests(
      home,
      clusters.names.map((name, at) => [name, guests[at]?.kubeconfig ?? faked.kubeconfig(name)]),
    );
    return clusters;
  }

  /** Ignores all requests that the fleet's controller has made so far. */
  forget(): void {
    this.faked.forget();
    this.#ends = this.#auditEnds();
  }

  /** Waits until the fleet's controller follows each of the first `count` clusters. */
  async untilFollowed(count: number): Promise<void> {
    const isFollowed = (name: string, at: number) =>
      at < this.real.length
        ? this.#asked(at).some(({ verb }) => verb === "watch")
        : this.faked.requests(name).length > 1;
    await until(`${count} are followed`, () => this.names.slice(0, count).every(isFollowed));
  }

  /**
   * Waits until the first `count` clusters have this content. `since`: when it was written, in ms.
   */
  async untilDelivered(content: string, count: number, since: number): Promise<void> {
    const names = this.names.slice(this.real.length, count);
    await Promise.all([
      untilReal(
        this.real.map(({ target }) => target),
        content,
        since,
      ),
      until(
        "the last fake has it",
        () => names.every((name) => contentOf(fleet.placedIn(this.faked, name) ?? {}) === content),
        { every: 10 },
      ),
    ]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.faked[Symbol.asyncDispose]();
    for (const { target, cluster } of this.real) {
      target[Symbol.dispose]();
      cluster.down();
    }
  }

  #asked(at: number) {
    const guest = this.real[at];
    if (guest === undefined) return [];
    const all = auditOf(guest.cluster, { after: this.#ends[at] ?? 0 });
    // We select requests by user agent and not by user, because Cluster API's kubeconfigs belong to
    // an administrator.
    return all.filter(({ userAgent }) => userAgent === fleetManager);
  }

  #auditEnds(): readonly number[] {
    return this.real.map(({ cluster }) => auditEnd(cluster));
  }
}

/** Waits until each of these watches has shown this content at or after `since` (milliseconds). */
async function untilReal(
  targets: readonly WatchedObjects<V1Secret>[],
  content: string,
  since: number,
): Promise<void> {
  const fits = ({ object, gone }: { object: V1Secret; gone: boolean }) =>
    !gone && contentOf(object) === content;
  await Promise.all(targets.map((target) => target.first("the content", fits, since, 60)));
}

const nameOf = (index: number): string => `guest-${index}`;

async function startReal(name: string): Promise<RealGuest> {
  const guest = await fleet.guestOf(await startCluster({ apiOnly: true }));
  const target = new WatchedObjects<V1Secret>(guest.api, secrets, {
    fieldSelector: "metadata.name=pull-secret",
  });
  return { ...guest, name, target };
}

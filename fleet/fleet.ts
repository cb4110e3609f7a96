/** Serves one FleetSecret. Each run brings its clusters closer to the spec. */
import type { V1ObjectMeta } from "@kubernetes/client-node";
import type { FleetSecret, FleetSecretStatus } from "#api/fleet-secret.ts";
import { fleetFinalizer } from "#contract/names.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { sooner, type Again } from "#runtime/loop.ts";
import { fleetSecretsIn } from "#kube/client/paths.ts";
import { warn } from "#runtime/events.ts";
import { writeFinalizer } from "#runtime/finalizer.ts";
import { statusWriter, type StatusWriter } from "#runtime/status.ts";
import { fleetManager } from "./connection.ts";
import { FleetClusters, type Run } from "./clusters.ts";
import { isDeleted, needsClusters } from "./inventory/cluster-api.ts";
import { releasedFrom, selectedBy, type Selection } from "./inventory/inventory.ts";
import { inTurn, nextChanges } from "./rules/order.ts";
import { sourceContent, ownerOf, type Judged } from "./rules/content.ts";
import { codeOf, sentence } from "./rules/problems.ts";
import type { SourceReading } from "./source.ts";
import { membersOf, type Members } from "./rules/members.ts";
import {
  stalledBy,
  statusOf,
  type FoundCluster,
  type FoundClusters,
  warningsOf,
} from "./rules/status.ts";

export type FleetPlace = Readonly<{
  /** The management cluster. Writes fail if this process does not hold the Lease. */
  home: Cluster;
  /**
   * Uid of the management cluster's kube-system namespace. It is part of the owner's mark on each
   * placed Secret.
   */
  clusterId: string;
  holds: () => boolean;
  hint: () => void;
  log: (fields: object, message: string) => void;
  source: () => SourceReading;
  /** Changes with each change of an inventory. Without it, each run reads the inventory. */
  inventoryVersion?: () => unknown;
}>;

type Inventory = Readonly<{ at: readonly unknown[]; selection: Selection }>;
const nothing: Selection = { names: [], canaries: new Set() };

/** Seconds until the next run while a change is under way. */
const soonSeconds = 5;

/** A leaving cluster, and why the Secret is still there. */
type Left = Members["leaving"][number] & Readonly<{ reason?: string | undefined }>;
type GivenUp = NonNullable<FoundClusters["givenUp"]>[number];
type Found = Pick<FoundCluster, "name" | "state" | "isStarted"> &
  Readonly<{ reason?: string | undefined }>;
/** `others`: entries of status for clusters that are leaving. */
type Around = Readonly<{
  others: readonly FoundCluster[];
  givenUp: readonly GivenUp[];
  canaries: ReadonlySet<string>;
}>;
type Withdrawal = Readonly<{ remaining: readonly Left[]; givenUp: readonly GivenUp[] }>;
type RunReport = Pick<FoundClusters, "clusters" | "stalled" | "givenUp"> &
  Readonly<{ source?: Judged | undefined }>;

export class Fleet {
  readonly #place: FleetPlace;
  readonly #clusters: FleetClusters;
  readonly #status: StatusWriter<FleetSecret, FleetSecretStatus>;
  readonly #closed = new AbortController();
  /**
   * The clusters that the stored status names. We change only these, so that the next controller
   * finds them if this process is killed now.
   */
  #recorded: ReadonlySet<string> = new Set();
  #inventory: Inventory | undefined;
  /** The source's version when it got its present content. */
  #content: Readonly<{ digest: string; version: string }> | undefined;

  constructor(place: FleetPlace) {
    this.#place = place;
    this.#clusters = new FleetClusters(place);
    this.#status = statusWriter({
      cluster: place.home,
      path: resourceOf,
      manager: `${fleetManager}-status`,
      signal: this.#closed.signal,
      failed: (error) =>
        place.log({ error: error.message }, "status could not be written; it will be retried"),
    });
  }

  /** Closes all connections, and stops writing status. The Secrets stay in the clusters. */
  close(): void {
    this.#closed.abort();
    this.#clusters.keep([]);
  }

  /** Observes all clusters once, and makes the changes that are due. */
  async run(stored: FleetSecret, all: readonly FleetSecret[]): Promise<Again | undefined> {
    const { home } = this.#place;
    const deleted = stored.metadata.deletionTimestamp !== undefined;
    if (!deleted)
      await writeFinalizer(home, resourceOf(stored.metadata), stored, fleetFinalizer, true);
    this.#recorded = new Set(stored.status?.clusters?.map(({ name }) => name));
    // The stored status can be older than the last one that we wrote, and the clusters' times count
    // from their first mention.
    const object: FleetSecret = { ...stored, status: this.#status.before(stored) ?? {} };
    const selected = deleted ? nothing : await this.#selected(object);
    if (selected instanceof ApiError) {
      // We cannot find out which clusters are selected, so we change nothing.
      const message = sentence("unreadable", selected.message);
      const clusters = (object.status?.clusters ?? []).map((entry) => statusEntry(entry));
      this.#report(object, { clusters, stalled: { reason: "InventoryUnreadable", message } });
      return { seconds: soonSeconds };
    }
    const now = Date.now();
    const { names: chosen, canaries } = selected;
    const released = await this.#released(object, chosen);
    const members = membersOf({ object, selected: chosen, released, now });
    const source = deleted ? undefined : this.#source(object);
    if (source === "unknown") return undefined;
    const ownerFor = ({ metadata }: FleetSecret) => ownerOf(this.#place.clusterId, metadata);
    const owner = ownerFor(object);
    const others = new Map<string | undefined, FleetSecret>(
      all.map((other) => [ownerFor(other), other]),
    );
    // We take no Secret from a FleetSecret that needs it, because the two would overwrite each
    // other.
    const holderOf = (name: string, mark: string | undefined) => {
      const other = others.get(mark);
      if (other !== undefined)
        return isLeaving(other, name) ? undefined : `the FleetSecret ${pathOf(other.metadata)}`;
      return object.spec.conflicts === "Adopt" ? undefined : "another program";
    };
    const successorAt = (name: string) => all.find((other) => isSuccessor(other, object, name));
    const run: Run = { object, source, owner, now };
    const going = members.leaving.map(({ name }) => name);
    const names = [...members.served, ...going];
    this.#clusters.keep(members.served, going, object.spec, holderOf);
    const deletedClusters = await this.#deleted(run, members);
    const leaving = members.leaving.filter(({ name }) => !deletedClusters.has(name));
    const { remaining, givenUp } = this.#withdraw(run, { ...members, leaving }, successorAt);
    // We wait until the Events are written, because the status that names these clusters is deleted
    // with the object.
    await Promise.all(givenUp.map((cluster) => this.#reportGivenUp(object, cluster)));
    if (deleted && remaining.length === 0) {
      await writeFinalizer(home, resourceOf(object.metadata), object, fleetFinalizer, false);
      return undefined;
    }
    return sooner(
      this.#serve(run, members, {
        givenUp,
        canaries,
        others: remaining.map(({ name, reason }) =>
          statusEntry({ name, state: "Leaving", reason }),
        ),
      }),
      soonest(
        [
          ...remaining.map(({ next }) => next),
          ...names.flatMap((name) => this.#clusters.again(name, now)),
        ],
        now,
      ),
    );
  }

  #serve(
    run: Run,
    { served, cut }: Members,
    { others, givenUp, canaries }: Around,
  ): Again | undefined {
    const { object, source, owner, now } = run;
    const judged = served.map((name) => ({
      name,
      ...this.#clusters.judge(name, run),
      isCanary: canaries.has(name),
    }));
    const { maxUnavailable = "10%", maxFailures = "5%" } = object.spec.rollout ?? {};
    const digest = source?.ok === true ? source.content.digest : "";
    const action = nextChanges(inTurn(judged, digest), { maxUnavailable, maxFailures });
    const refusing = judged
      .filter(({ rolloutState }) => rolloutState === "refused")
      .map(({ name }) => name);
    const stalled = stalledBy({ source, halted: action.halted, refusing, cut });
    const goesOn = source?.ok === true && !isPaused(object);
    const changed = new Set(goesOn ? action.change.filter((name) => this.#recorded.has(name)) : []);
    const isStarted = ({ name, rolloutState }: (typeof judged)[number]) =>
      changed.has(name) || rolloutState === "working";
    const clusters = [
      ...judged.map((cluster) => statusEntry({ ...cluster, isStarted: isStarted(cluster) })),
      ...others,
    ];
    this.#report(object, { clusters, stalled, source, givenUp });
    if (goesOn)
      for (const name of changed) void this.#clusters.get(name)?.change(source.content, owner);
    const moving = judged.some(
      ({ rolloutState }) => rolloutState === "waiting" || rolloutState === "working",
    );
    const unreadable = stalled?.reason === "SourceUnreadable";
    const soon =
      unreadable || (goesOn && moving && !action.halted) ? { seconds: soonSeconds } : undefined;
    return sooner(
      soon,
      soonest(
        judged.map(({ next }) => next),
        now,
      ),
    );
  }

  /**
   * The selected clusters, or the error of the inventory. We read the inventory again only after a
   * change in the management cluster, because a change in one of the clusters must cost little.
   */
  async #selected({ metadata, spec }: FleetSecret): Promise<Selection | ApiError> {
    const { home, inventoryVersion = () => Symbol("always") } = this.#place;
    const at = [metadata.generation, inventoryVersion()] as const;
    const known = this.#inventory;
    if (known !== undefined && at.every((part, index) => part === known.at[index]))
      return known.selection;
    try {
      const selection = await selectedBy(home, spec);
      this.#inventory = { at, selection };
      return selection;
    } catch (error) {
      if (error instanceof ApiError) return error;
      throw error;
    }
  }

  /**
   * Names of the clusters that the command `fleet remove` is removing. We read them only if a
   * cluster is leaving.
   */
  async #released(
    { status }: FleetSecret,
    selected: readonly string[],
  ): Promise<readonly string[]> {
    const selectedNames = new Set(selected);
    const names = (status?.clusters ?? []).map(({ name }) => name);
    const deselected = names.filter((name) => !selectedNames.has(name));
    try {
      return await releasedFrom(this.#place.home, deselected);
    } catch (error) {
      // The deletion of the object must complete even if its inventory was deleted.
      if (error instanceof ApiError) return [];
      throw error;
    }
  }

  /**
   * The source, as its watch shows it. A version that changes only the source's metadata does not
   * count, because it must not start the rollout again.
   */
  #source({ spec }: FleetSecret): Judged | "unknown" {
    const reading = this.#place.source();
    if (reading === "unknown") return "unknown";
    if (reading instanceof Error) {
      if (!(reading instanceof ApiError)) throw reading;
      const message = sentence("unreadable", reading.message);
      return { ok: false, reason: "SourceUnreadable", message };
    }
    const judged = sourceContent(reading.secret, spec.secretRef.name);
    if (!judged.ok) return judged;
    const { digest } = judged.content;
    if (this.#content?.digest !== digest) this.#content = { digest, version: judged.version };
    return { ...judged, version: this.#content.version };
  }

  /**
   * Removes the Secret from leaving clusters whose grace period has ended. Returns the clusters
   * that might still have the Secret, and the clusters that we give up. All clusters lose it at
   * once, because the end of a DELETE says nothing about the nodes. `successorAt`: the FleetSecret
   * that takes the Secret over.
   */
  #withdraw(
    run: Run,
    { served, leaving }: Members,
    successorAt: (name: string) => FleetSecret | undefined,
  ): Withdrawal {
    const { object, owner } = run;
    if (isPaused(object)) return { remaining: leaving, givenUp: [] };
    const orphan = object.spec.removalPolicy === "Orphan";
    const needed = new Set(served.flatMap((name) => this.#clusters.get(name)?.uids(owner) ?? []));
    const remaining: Left[] = [];
    const abandoned: GivenUp[] = [];
    for (const member of leaving) {
      const { name, due, overdue } = member;
      if (!due) {
        remaining.push(member);
        continue;
      }
      const cluster = this.#clusters.get(name);
      const successor = successorAt(name);
      // A served cluster with the same object is the same cluster under another name.
      const isNeeded = cluster?.uids(owner).some((uid) => needed.has(uid)) === true;
      if (orphan || isNeeded || cluster?.withdraw(owner, successor !== undefined)) continue;
      const { reason, isStuck } = this.#clusters.leaving(
        name,
        run,
        successor && pathOf(successor.metadata),
      );
      if (overdue && isStuck) abandoned.push({ name, ...(reason === undefined ? {} : { reason }) });
      else remaining.push({ ...member, reason });
    }
    return { remaining, givenUp: abandoned };
  }

  /**
   * Leaving clusters that Cluster API has deleted, or that `clusterctl move` has moved to another
   * management cluster, which now serves them. If Clusters are selected, a cluster also leaves by
   * the loss of its object, so we ask even while the cluster answers.
   */
  async #deleted(run: Run, { leaving }: Members): Promise<ReadonlySet<string>> {
    const names = new Set<string>();
    const { via, clusterAPI } = run.object.spec;
    const areClusters = via !== "ClusterResourceSet" && needsClusters(clusterAPI);
    for (const { name } of leaving.filter(({ due }) => due)) {
      const isCluster = areClusters && !name.includes("/");
      const { reason } = this.#clusters.leaving(name, run);
      const isAsked = isCluster || reason?.startsWith(codeOf("noKubeconfig")) === true;
      if (isAsked && (await isDeleted(this.#place.home, name))) names.add(name);
    }
    return names;
  }

  async #reportGivenUp(object: FleetSecret, { name, reason: why = "" }: GivenUp): Promise<void> {
    const message = "given up: it may keep the Secret";
    this.#place.log({ cluster: name, object: pathOf(object.metadata) }, message);
    await warn(this.#place.home, fleetManager, object, {
      reason: "ClusterGivenUp",
      message: `${name}: ${message}; ${why}`,
    });
  }

  #report(object: FleetSecret, { source, ...report }: RunReport): void {
    const { spec, metadata, status } = object;
    const facts = {
      ...report,
      generation: metadata.generation ?? 0,
      now: new Date(),
      version: source?.ok ? source.version : status?.sourceResourceVersion,
      paused: isPaused(object),
      minAvailable: spec.rollout?.minAvailable ?? "90%",
      warnings: warningsOf(spec),
    };
    this.#status.write(object, statusOf(facts, this.#status.before(object)));
  }
}

/** Whether the FleetSecret is deleted, has deselected the cluster, or has given it up. */
const isLeaving = ({ metadata, status }: FleetSecret, name: string): boolean =>
  metadata.deletionTimestamp !== undefined ||
  status?.givenUp?.some((cluster) => cluster.name === name) === true ||
  status?.clusters?.find((cluster) => cluster.name === name)?.state === "Leaving";

/** Whether `other` brings its own content to the same target in the cluster. */
function isSuccessor(other: FleetSecret, { metadata, spec }: FleetSecret, name: string): boolean {
  const [target, via] = [JSON.stringify(spec.target), spec.via];
  return (
    other.metadata.uid !== metadata.uid &&
    JSON.stringify(other.spec.target) === target &&
    other.spec.via === via &&
    other.status?.clusters?.some((cluster) => cluster.name === name) === true &&
    !isLeaving(other, name)
  );
}

/** `namespace/name` of an object. */
export const pathOf = ({ namespace, name }: V1ObjectMeta): string => `${namespace}/${name}`;

const resourceOf = ({ namespace = "", name }: V1ObjectMeta): string =>
  `${fleetSecretsIn(namespace)}/${name}`;

/**
 * True if the user paused the object. A deleted object does not count as paused, because its
 * deletion would otherwise never complete.
 */
const isPaused = ({ metadata, spec }: FleetSecret): boolean =>
  spec.managementState === "Paused" && metadata.deletionTimestamp === undefined;

/** A cluster's entry in status, without its times. */
const statusEntry = ({ name, state, reason, isStarted }: Found): FoundCluster => ({
  name,
  state,
  ...(reason === undefined ? {} : { reason }),
  ...(isStarted === true ? { isStarted } : {}),
});

/** Seconds until the first of these times that is in the future. */
function soonest(moments: readonly (number | undefined)[], now: number): Again | undefined {
  const ahead = moments.filter((moment) => moment !== undefined).filter((moment) => moment > now);
  return ahead.length === 0 ? undefined : { seconds: (Math.min(...ahead) - now) / 1000 };
}

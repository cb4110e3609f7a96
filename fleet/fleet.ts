/** One FleetSecret, as one value: its guests, and one run that brings them nearer to it. */
import type { V1Namespace, V1Secret } from "@kubernetes/client-node";
import type { ClusterStatus, FleetSecret } from "#api/fleet-secret.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import type { Again } from "#kube/loop.ts";
import { secretsIn } from "#kube/client/paths.ts";
import { Guest } from "./guest/guest.ts";
import { order, type Standing } from "./order/order.ts";
import { has, isPlacedBy, judge, ownerOf, type Content, type Judged } from "./secret/content.ts";
import { sentence } from "./secret/problems.ts";
import { membersOf, mostClusters, olderWithTarget, type Members } from "./status/members.ts";
import { sameStatus, statusOf } from "./status/status.ts";
import { pathOf, writeFinalizer, writeStatus } from "./write.ts";

export type Place = Readonly<{
  /** The management cluster; writes only while the Lease is held. */
  home: Cluster;
  /** Uid of its kube-system: by it a guest's Secret tells who placed it. */
  clusterId: string;
  holds: () => boolean;
  hint: () => void;
  log: (fields: object, message: string) => void;
}>;

/** Status is written at most so often. */
const statusMilliseconds = 2000;
/** While something is not as it should be, it is looked at again after so many seconds. */
const soonSeconds = 5;

type Judgement = Readonly<{ standing: Standing; state: ClusterStatus["state"]; reason?: string }>;

export class Fleet {
  readonly #place: Place;
  readonly #guests = new Map<string, Guest>();
  #written = 0;

  constructor(place: Place) {
    this.#place = place;
  }

  /** Ends all connections; nothing is taken away. */
  close(): void {
    for (const guest of this.#guests.values()) guest.close();
    this.#guests.clear();
  }

  /** One look, and what follows from it. */
  async run(object: FleetSecret, all: readonly FleetSecret[]): Promise<Again | undefined> {
    const { home } = this.#place;
    const deleted = object.metadata.deletionTimestamp !== undefined;
    const conflict = deleted ? undefined : olderWithTarget(object, all);
    if (conflict !== undefined) {
      const message = sentence("conflict", pathOf(conflict.metadata));
      const clusters = object.status?.clusters ?? [];
      return this.#tell(object, clusters, { reason: "Conflict", message });
    }
    if (!deleted) await writeFinalizer(home, object, true);
    const selected = deleted ? [] : await this.#selected(object);
    const now = Date.now();
    const members = membersOf({ object, selected, now });
    const source = await this.#source(object);
    await this.#open(object, members, now);
    const owner = ownerOf(this.#place.clusterId, object.metadata);
    const left = await this.#release(object, members, owner, now);
    if (deleted && left.length === 0) {
      await writeFinalizer(home, object, false);
      return undefined;
    }
    const turn = this.#judge(object, members, source, owner, now);
    const tooMany = selected.length > mostClusters;
    const stalled = source.ok
      ? turn.halted
        ? { reason: "Halted", message: sentence("halted", turn.refusing) }
        : tooMany
          ? { reason: "TooManyClusters", message: sentence("tooMany") }
          : undefined
      : { reason: source.reason, message: source.message };
    const clusters = [
      ...turn.clusters,
      ...left.map((name) => ({ name, state: "Leaving" as const })),
    ];
    const again = await this.#tell(object, clusters, stalled);
    if (source.ok && object.spec.managementState !== "Paused") {
      // Only what status tells of: a controller that is killed now must find it again.
      const recorded = new Set((object.status?.clusters ?? []).map(({ name }) => name));
      for (const name of turn.change.filter((one) => recorded.has(one)))
        void this.#guests.get(name)?.change(source.content, owner);
    }
    const rests = clusters.every(({ state }) => state === "Done");
    return again ?? (rests ? undefined : { seconds: soonSeconds });
  }

  async #selected({ spec }: FleetSecret): Promise<string[]> {
    const labels = Object.entries(spec.clusterAPI.namespaceSelector.matchLabels);
    const labelSelector = labels.map(([name, value]) => `${name}=${value}`).join(",");
    const names: string[] = [];
    await this.#place.home.pages<V1Namespace>("/api/v1/namespaces", { labelSelector }, (page) => {
      names.push(...page.flatMap(({ metadata }) => metadata?.name ?? []));
    });
    return names.toSorted();
  }

  async #source({ metadata, spec }: FleetSecret): Promise<Judged> {
    const { name } = spec.secretRef;
    const path = `${secretsIn(metadata.namespace ?? "")}/${name}`;
    return judge(await this.#place.home.get<V1Secret>(path), name);
  }

  async #open({ spec }: FleetSecret, { served, leaving }: Members, now: number): Promise<void> {
    const { home, holds, hint } = this.#place;
    const target = { namespace: spec.target.namespace ?? "kube-system", name: spec.target.name };
    const names = new Set([...served, ...leaving.map(({ name }) => name)]);
    for (const [name, guest] of this.#guests) {
      if (names.has(name)) continue;
      guest.close();
      this.#guests.delete(name);
    }
    for (const name of names) {
      const known = this.#guests.get(name);
      const guest = known ?? new Guest({ name, target, home, holds, hint });
      this.#guests.set(name, guest);
      // Nobody waits for it: what it finds is a hint.
      if (!guest.looking) void guest.look(now);
    }
  }

  /** Those that are still leaving. */
  async #release(
    { spec, metadata }: FleetSecret,
    { served, leaving }: Members,
    owner: string,
    now: number,
  ): Promise<string[]> {
    if (spec.managementState === "Paused") return leaving.map(({ name }) => name);
    const left: string[] = [];
    const asked = {
      canary: 0,
      maxFailures: leaving.length,
      maxConcurrency: spec.rollout?.maxConcurrency ?? "10%",
    };
    const due = leaving.filter((one) => one.due);
    const standings = due.map(({ name }) => {
      const guest = this.#guests.get(name);
      const shown = guest?.shown(now);
      const away = shown === undefined || "away" in shown;
      return { name, standing: away ? "unreachable" : guest?.busy ? "busy" : "waiting" } as const;
    });
    const turn = new Set(
      order([...standings, ...served.map((name) => ({ name, standing: "done" as const }))], asked)
        .change,
    );
    for (const { name, due: isDue, overdue } of leaving) {
      const guest = this.#guests.get(name);
      const orphan = spec.removalPolicy === "Orphan";
      const gone =
        isDue && (orphan || (turn.has(name) && (await guest?.release(owner, now)) === true));
      if (overdue && !gone)
        this.#place.log(
          { cluster: name, object: pathOf(metadata) },
          "given up: it may keep the Secret",
        );
      if (!gone && !overdue) left.push(name);
    }
    return left;
  }

  #judge(object: FleetSecret, { served }: Members, source: Judged, owner: string, now: number) {
    const judged = served.map((name) => ({
      name,
      ...this.#standing(name, object, source, owner, now),
    }));
    const { canary = 1, maxConcurrency = "10%", maxFailures = 0 } = object.spec.rollout ?? {};
    const turn = order(judged, { canary, maxConcurrency, maxFailures });
    const refusing = judged.filter(({ state }) => state === "Failed").map(({ name }) => name);
    return {
      ...turn,
      halted: source.ok && turn.halted,
      refusing: refusing.slice(0, 5).join(", "),
      clusters: judged.map(({ name, state, reason }) => {
        return reason === undefined ? { name, state } : { name, state, reason };
      }),
    };
  }

  #standing(
    name: string,
    { status }: FleetSecret,
    source: Judged,
    owner: string,
    now: number,
  ): Judgement {
    const guest = this.#guests.get(name);
    const shown = guest?.shown(now);
    if (guest === undefined || shown === undefined)
      return { standing: "unreachable", state: "Waiting" };
    if ("away" in shown)
      return { standing: "unreachable", state: "Unreachable", reason: shown.away };
    const { secret } = shown;
    if (secret !== undefined && !isPlacedBy(secret, owner))
      return { standing: "unreachable", state: "Failed", reason: sentence("foreign") };
    if (!source.ok) {
      const known = status?.clusters?.find((one) => one.name === name)?.state;
      return {
        standing: "done",
        state: known === "Done" && secret !== undefined ? "Done" : "Waiting",
      };
    }
    return standingOf(guest, secret, source.content, now);
  }

  async #tell(
    object: FleetSecret,
    clusters: readonly Omit<ClusterStatus, "since">[],
    stalled: Readonly<{ reason: string; message: string }> | undefined,
  ): Promise<Again | undefined> {
    const now = new Date();
    const paused = object.spec.managementState === "Paused";
    const generation = object.metadata.generation ?? 0;
    const status = statusOf({ generation, now, clusters, stalled, paused }, object.status);
    if (sameStatus(status, object.status)) return undefined;
    const wait = this.#written + statusMilliseconds - now.getTime();
    if (wait > 0) return { seconds: wait / 1000 };
    this.#written = now.getTime();
    await writeStatus(this.#place.home, object, status);
    return { seconds: 0.1 };
  }
}

function standingOf(
  guest: Guest,
  secret: V1Secret | undefined,
  content: Content,
  now: number,
): Judgement {
  if (guest.busy) return { standing: "busy", state: "Waiting" };
  if (secret !== undefined && has(secret, content)) return { standing: "done", state: "Done" };
  const refusal = guest.refusal(content, now);
  if (refusal === undefined) return { standing: "waiting", state: "Waiting" };
  return { standing: refusal.again ? "retry" : "failed", state: "Failed", reason: refusal.why };
}

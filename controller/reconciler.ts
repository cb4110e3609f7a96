/** What a run is given: the policy, the clusters, and whom it tells. */
import type { Cluster } from "#kube/client/cluster.ts";
import type { Extras } from "#controller/sources/read/extras.ts";
import type { OriginalPlace } from "#controller/sources/read/snapshot.ts";
import type { Report } from "./report/outcome.ts";
import type { RootMounts } from "./rollout/root-mount.ts";
import type { Steering } from "./steering.ts";
import type { Remover } from "./withdrawal/removal.ts";

export type Reconciler = Remover &
  Readonly<{
    /** Policy, wishes and agents of this run come from it. */
    steering: Steering;
    /** The same cluster without informers. */
    live: Cluster;
    original: (OriginalPlace & Readonly<{ name: string }>) | undefined;
    extras: Extras;
    /** The API group of another operator that owns the nodes' pull secrets, where there is one. */
    platform: () => Promise<string | undefined>;
    report: Report;
    rootMounts: Pick<RootMounts, "lacking">;
  }>;

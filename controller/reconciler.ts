/** What a run is given: the policy, the clusters, and whom it tells. */
import type { Cluster } from "#kube/client/cluster.ts";
import type { Extras } from "./sources/extras.ts";
import type { OriginalPlace } from "./sources/snapshot.ts";
import type { Report } from "./status/outcome.ts";
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
  }>;

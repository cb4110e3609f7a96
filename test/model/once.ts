/** Plans that once broke a law, each as small as it could be made. */
import type { Event } from "./events.ts";
import type { Plan } from "./schedules.ts";

type Row = readonly [t: number, kind: string, who?: number, n?: number];

const events = (...rows: readonly Row[]): readonly Event[] =>
  rows.map(([t, kind, who = 0, n = 0]) => ({ t, kind, who, n }));

const usual = {
  nodes: 1,
  budget: 1,
  maxFailures: 0,
  minInterval: 0,
  mode: "Restart",
  registers: false,
  churn: 0,
  isOld: false,
} as const;

export const plansOnce: readonly Plan[] = [
  // Etcd is restored to before the installation, and nothing shows that nodes hold anything.
  {
    ...usual,
    seed: 455103,
    events: events([230, "withdraw"], [268, "snapshot"], [302, "edit", 0, 126], [397, "restore"]),
    end: 750,
  },
  // A pause holds an installation; a node joins after it was made all the same.
  {
    ...usual,
    seed: 930248,
    budget: 100,
    events: events([231, "withdraw"], [256, "pause"], [383, "revert", 0, 1], [515, "replace"]),
    end: 608,
  },
  // The canary's pod is deleted, and its successor reports the failure.
  {
    ...usual,
    seed: 1031113,
    nodes: 3,
    events: events([177, "bad"], [187, "podDelete", 804]),
    end: 210,
  },
  // A withdrawal after two upgrades: a recorded node is Ready with the template between.
  {
    ...usual,
    seed: 3001154,
    nodes: 16,
    mode: "Reread",
    isOld: true,
    events: events([53, "upgrade"], [54, "withdraw"], [60, "deleteSecret"]),
    end: 68,
  },
  // The canary cannot be recorded, and its grant is not sent.
  {
    ...usual,
    seed: 6100078,
    nodes: 5,
    maxFailures: 2,
    events: events([17, "busy", 0, 580], [35, "mode"], [53, "withdrawOne", 0, 660]),
    end: 68,
  },
];

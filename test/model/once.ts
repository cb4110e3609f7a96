/** Plans that once broke a law, each shrunk to the smallest plan that broke this law. */
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
  churn: 0,
} as const;

export const plansOnce: readonly Plan[] = [
  // Etcd is restored to a time before the installation, and no object shows that nodes have
  // content.
  {
    ...usual,
    seed: 455103,
    events: events([230, "withdraw"], [268, "snapshot"], [302, "edit", 0, 126], [397, "restore"]),
    end: 750,
  },
  // A pause stops an installation that was already published, and then a node joins.
  {
    ...usual,
    seed: 930248,
    budget: 100,
    events: events([231, "withdraw"], [256, "pause"], [383, "revert", 0, 1], [515, "replace"]),
    end: 608,
  },
  // The canary's pod is deleted, and the next pod on its node reports the failure.
  {
    ...usual,
    seed: 1031113,
    nodes: 3,
    events: events([177, "bad"], [187, "podDelete", 804]),
    end: 210,
  },
  // A withdrawal follows two upgrades, and a node in `replaced` is Ready with the first upgrade's
  // template.
  {
    ...usual,
    seed: 3001154,
    nodes: 16,
    mode: "Reread",
    events: events([53, "upgrade"], [54, "withdraw"], [60, "deleteSecret"]),
    end: 68,
  },
  // The controller can neither record the canary nor send its grant.
  {
    ...usual,
    seed: 6100078,
    nodes: 5,
    maxFailures: 2,
    events: events([17, "busy", 0, 580], [35, "mode"], [53, "withdrawOne", 0, 660]),
    end: 68,
  },
  // A node is released in one mode, and again in another mode after its pod was deleted.
  {
    ...usual,
    seed: 9300192,
    budget: 3,
    events: events([17, "mode"], [18, "withdraw"], [30, "podDelete"]),
    end: 63,
  },
  // The failure of a node without a pod cannot be recorded, because the API server is busy.
  {
    ...usual,
    seed: 9500095,
    nodes: 3,
    maxFailures: 2,
    minInterval: 60,
    events: events(
      [46, "join", 451],
      [57, "badUpgrade"],
      [76, "badUpgrade"],
      [106, "edit", 0, 358],
      [110, "podDelete", 117],
      [148, "busy", 0, 651],
      [154, "away", 308, 26],
      [157, "badUpgrade"],
    ),
    end: 203,
  },
  // A person plants a grant on a pod whose node is in the window, during a withdrawal that is
  // revoked.
  {
    ...usual,
    seed: 9803378,
    mode: "Reread",
    events: events(
      [150, "withdraw"],
      [161, "podDelete"],
      [195, "edit", 0, 1],
      [203, "plant", 0, 3],
    ),
    end: 210,
  },
  // The served slot is emptied for a withdrawal that is revoked, and no termination message is
  // known.
  {
    ...usual,
    seed: 9805344,
    nodes: 3,
    budget: 3,
    minInterval: 60,
    events: events([45, "join"], [61, "withdrawOne", 0, 5], [62, "revert"]),
    end: 63,
  },
  // The journal of a served node is deleted, and the node no longer supports the mode.
  {
    ...usual,
    seed: 36001795,
    budget: 3,
    mode: "CredentialProvider",
    events: events([199, "unfit", 0, 948], [302, "crash"], [302, "deleteJournal"]),
    end: 350,
  },
  // A node that is not the canary turns silent, and its Node is replaced before the node has
  // failed.
  {
    ...usual,
    seed: 687511,
    nodes: 5,
    events: events(
      [206, "badUpgrade", 944, 328],
      [287, "badSome", 502, 403],
      [406, "badSome", 276, 274],
      [521, "replace", 258, 428],
    ),
    end: 603,
  },
  // The controller is killed while its view is a second old, and meanwhile the budget is lowered.
  {
    ...usual,
    seed: 2747734,
    nodes: 39,
    budget: 3,
    maxFailures: 1,
    minInterval: 60,
    mode: "Reread",
    events: events(
      [162, "budget", 889, 547],
      [163, "away", 738, 621],
      [164, "withdrawOne", 819, 508],
      [164, "admission", 681, 119],
      [165, "plant", 775, 203],
      [169, "upgrade", 1, 776],
      [175, "kill", 443, 529],
      [177, "budget", 664, 500],
    ),
    end: 210,
  },
  // After a withdrawal and a new installation, an agent with a journal of the withdrawal crashes.
  {
    ...usual,
    seed: 911945,
    nodes: 12,
    budget: 3,
    events: events(
      [172, "podDelete", 709, 910],
      [187, "withdraw", 365, 176],
      [307, "badSome", 390, 524],
      [471, "crash", 892, 501],
    ),
    end: 608,
  },
  // The budget is lowered while the controller's view is a second old, and the content breaks
  // kubelets.
  {
    ...usual,
    seed: 2169550,
    nodes: 12,
    budget: 100,
    maxFailures: 1,
    minInterval: 60,
    events: events([159, "badSilent", 75, 169], [160, "budget", 896, 438]),
    end: 210,
  },
  // A pause ends with a retry and a withdrawal of one source, and then the controller is killed.
  {
    ...usual,
    seed: 1664721,
    budget: 2,
    maxFailures: 2,
    events: events(
      [24, "pause", 833, 624],
      [53, "kill", 845, 68],
      [132, "retry", 236, 361],
      [139, "plant", 277, 269],
      [140, "outage", 54, 634],
      [148, "withdrawOne", 995, 449],
      [163, "pause", 787, 197],
      [176, "replace", 870, 5],
    ),
    end: 203,
  },
  // Admission refuses the grant that requests a termination message from a node with the content.
  {
    ...usual,
    seed: 498606,
    nodes: 2,
    budget: 100,
    mode: "CredentialProvider",
    events: events(
      [155, "admission", 344, 65],
      [161, "podDelete", 739, 713],
      [163, "withdrawOne", 196, 133],
      [167, "revert", 405, 229],
    ),
    end: 210,
  },
];

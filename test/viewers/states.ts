/**
 * One GlobalPullSecret for each state that viewers can tell apart, with the judgements that kstatus
 * and Argo CD should give. A viewer reads only the generation, the deletion and the conditions, and
 * of the reasons only Paused.
 */
type Health = "Progressing" | "Healthy" | "Degraded" | "Suspended";
type Condition = Readonly<{ type: string; status: string; reason: string; message: string }>;

export type State = Readonly<{
  name: string;
  object: object & Readonly<{ status: Readonly<{ conditions: readonly Condition[] }> }>;
  kstatus: "Current" | "InProgress" | "Failed" | "Terminating";
  health: Readonly<{ status: Health; message: string }>;
}>;

/** Status of Ready, Reconciling and Stalled → the judgements of kstatus and Argo CD. */
const judgements = {
  "Unknown True False": ["InProgress", "Progressing"],
  "False True False": ["InProgress", "Progressing"],
  "True False False": ["Current", "Healthy"],
  "False False True": ["Failed", "Degraded"],
} as const;

type More = Readonly<{
  /** Fields of the metadata. The generation is 3, and the status describes generation 3. */
  metadata?: object;
  conditions?: readonly Condition[];
  health?: Readonly<{ status: Health; message?: string }>;
  kstatus?: State["kstatus"];
}>;

type Row = readonly [
  name: string,
  statuses: keyof typeof judgements,
  reason: string,
  message: string,
  more?: More,
];

const inForce = ["True False False", "InForce", "revision 8 is on every node"] as const;

const rows: readonly Row[] = [
  ["starting", "Unknown True False", "Starting", "nothing has been checked yet"],
  ["first", "False True False", "OneNodeFirst", "0 of 100 nodes have revision 8, 1 AtWork"],
  ["ready", ...inForce],
  ["left-out", ...inForce, { conditions: [condition("NodesLeftOut", "True")] }],
  ["extra-refused", ...inForce, { conditions: [condition("SourcesAccepted", "False")] }],
  ["halted", "False False True", "Halted", "revision 9 failed on n7"],
  ["paused", "True False False", "Paused", "paused: nothing waits"],
  [
    "paused-waiting",
    "False False True",
    "Paused",
    "paused: a change of the Secrets waits",
    { health: { status: "Suspended" } },
  ],
  [
    "spec-changed",
    ...inForce,
    {
      metadata: { generation: 4 },
      kstatus: "InProgress",
      health: { status: "Progressing", message: "the controller has not read this spec yet" },
    },
  ],
  [
    "deleted",
    ...inForce,
    {
      metadata: { deletionTimestamp: "2026-11-23T09:00:00Z", finalizers: ["a.example/kept"] },
      kstatus: "Terminating",
      health: { status: "Progressing", message: "is being deleted" },
    },
  ],
];

function condition(type: string, status: string, reason = "Other", message = "other"): Condition {
  return { type, status, reason, message };
}

export const states: readonly State[] = rows.map(([name, statuses, reason, message, more = {}]) => {
  const [kstatus, status] = judgements[statuses];
  const [ready = "", reconciling = "", stalled = ""] = statuses.split(" ");
  const conditions = [
    condition("Ready", ready, reason, message),
    condition("Reconciling", reconciling, reason, message),
    condition("Stalled", stalled, reason, message),
    ...(more.conditions ?? []),
  ];
  return {
    name,
    object: {
      apiVersion: "globalpullsecret.io/v1alpha1",
      kind: "GlobalPullSecret",
      metadata: { name: "cluster", generation: 3, ...more.metadata },
      status: { observedGeneration: 3, conditions },
    },
    kstatus: more.kstatus ?? kstatus,
    health: { status, message, ...more.health },
  };
});

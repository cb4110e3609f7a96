import assert from "node:assert/strict";
import { test } from "node:test";
import type { GlobalPullSecretStatus } from "#api/global-pull-secret.ts";
import type { NodePullSecretStatus } from "#api/node-pull-secret.ts";
import { agentLabels } from "#contract/names.ts";
import { collections, globalPullSecretPath } from "#kube/client/paths.ts";
import { pageOf } from "#test/page.ts";
import { call, FakeCluster } from "../fake.fixture.ts";
import { conditionsOf, object, rolling } from "../object.fixture.ts";

const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
const attemptAgo = (minutes: number) => Math.floor(Date.now() / 1000) - minutes * 60;

type Agent = Readonly<{
  ready?: boolean;
  /** The state of the agent's container. */
  state?: object;
  metadata?: object;
}>;

function pod(cluster: FakeCluster, node: string, agent: Agent = {}): void {
  const { ready = true, state = { running: {} }, metadata = {} } = agent;
  const truth = (is: boolean) => (is ? "True" : "False");
  cluster.objects.set(`${collections.pods}/${node}`, {
    metadata: { name: node, uid: node, labels: agentLabels, ...metadata },
    spec: { nodeName: node },
    status: {
      conditions: [
        { type: "Ready", status: truth(ready), lastTransitionTime: ago(50) },
        { type: "ContainersReady", status: truth("running" in state) },
      ],
      containerStatuses: [{ name: "agent", state }],
    },
  });
}

type Stored = Readonly<{
  /** The revision and the time of the order. Absent: nothing was asked. */
  asked?: readonly [revision: number, attempt: number];
  /** Its attempt is that of the order, except if it has another one. */
  report?: NodePullSecretStatus;
}>;

function node(cluster: FakeCluster, name: string, { asked = [0, 0], report }: Stored): void {
  const [revision, attempt] = asked;
  cluster.objects.set(`${collections.nodePullSecrets}/${name}`, {
    metadata: { name },
    spec: { revision, attempt, digest: "d" },
    ...(report && { status: { revision, attempt, since: ago(50), ...report } }),
  });
}

const proved: NodePullSecretStatus = { result: "Proved", code: "GPS200", message: "in force" };
const failed: NodePullSecretStatus = {
  result: "Failed",
  code: "GPS218",
  message: "the kubelet did not come back",
};
const [done, late] = [attemptAgo(1), attemptAgo(50)];

/** Of four nodes, n1 has revision 8, n2 is asked for it, n3 failed with it, and n4 waits. */
function cluster(status: GlobalPullSecretStatus = {}): FakeCluster {
  const fake = new FakeCluster();
  for (const name of ["n1", "n2", "n3", "n4"]) pod(fake, name);
  node(fake, "n4", { asked: [7, late], report: proved });
  node(fake, "n1", { asked: [8, done], report: proved });
  node(fake, "n2", { asked: [8, done], report: { ...proved, revision: 7, attempt: late } });
  node(fake, "n3", { asked: [8, done], report: failed });
  const revision = { inForce: 7, pending: 8 };
  fake.objects.set(globalPullSecretPath, object({ status: { revision, ...status } }));
  return fake;
}

const counts = { updated: 1, available: 4, unfit: 0, unreachable: 0, failed: 1 };

test("`nodes` prints each node's report and why it waits, as operate.md shows it", async () => {
  const waiting = [
    { reason: "AtWork", nodes: 1 },
    { reason: "Failed", nodes: 1 },
    { reason: "NoPlace", nodes: 1 },
  ];
  const nodes = { summary: "1/4", desired: 4, ...counts, waiting };
  const { code, out } = await call(["nodes"], { cluster: cluster({ nodes }) });
  assert.equal(code, 0);
  const [shown] = pageOf("use/operate.md").blocksBelow("## Which node has it?");
  assert.equal(out, shown?.printed);
  const absent = cluster({ nodes: { ...nodes, desired: 5 } });
  // The controller has not bound this agent's pod to a node yet.
  absent.objects.set(`${collections.pods}/pending`, {
    metadata: { labels: agentLabels },
    spec: {},
  });
  const { out: more } = await call(["nodes"], { cluster: absent });
  const why = "kubectl describe daemonset global-pull-secret-syncer -n kube-system shows why";
  assert.equal(more, `${out.replace("1 of 4", "1 of 5")}1 more node has no agent pod; ${why}\n`);
});

test("`nodes -o json` is a list of a stable shape", async () => {
  const { out } = await call(["nodes", "-o", "json"], { cluster: cluster() });
  const rows = JSON.parse(out) as object[];
  assert.deepEqual(rows[0], {
    node: "n1",
    revision: 8,
    result: "Proved",
    code: "GPS200",
    message: "",
  });
  const keys = ["node", "revision", "result", "reason", "code", "message", "since"];
  assert.deepEqual(Object.keys(rows[2] ?? {}), keys);
});

const waitingImage = { reason: "ImagePullBackOff", message: "Back-off pulling image" };
const token = "eyJhbGciOiJub25lIn0.pl4nted";
const refusedImage = { reason: "ErrImagePull", message: `GET https://a.io/v2/?token=${token}` };
const waitingFor = (reason: string): GlobalPullSecretStatus => ({
  nodes: {
    summary: "0/2",
    desired: 2,
    ...counts,
    waiting: [
      { reason: "AtWork", nodes: 1 },
      { reason, nodes: 1 },
    ],
  },
});

/** The facts about node n1, and the line that the command prints. The newest revision is 8. */
const reasons: readonly (readonly [
  when: string,
  known: Readonly<{
    stored?: Stored | "none";
    agent?: Agent | "none";
    status?: GlobalPullSecretStatus;
    probation?: string;
    controlPlane?: boolean;
    refused?: string;
  }>,
  line: RegExp,
])[] = [
  ["it has not reported", {}, /^ {2}n1 +- +- +NoPlace$/],
  ["it has no object yet", { stored: "none" }, /^ {2}n1 +- +- +AgentStarting$/],
  [
    "it confirmed the removal",
    { stored: { report: { ...proved, result: "Removed", code: "GPS224", revision: 8 } } },
    /^ {2}n1 +8 +Removed +GPS224$/,
  ],
  [
    "it took the revision when it joined",
    { stored: { report: { ...proved, revision: 8 } } },
    /^ {2}n1 +8 +Proved +GPS200$/,
  ],
  [
    "it did not answer in time",
    { stored: { asked: [8, late] } },
    /- +- +GPS335 +Silent +the node was asked and did not answer in time; .* \(50m ago\)$/,
  ],
  [
    "it has longer to answer, because its probation is longer",
    { stored: { asked: [8, late] }, probation: "50m" },
    /- +- +AtWork$/,
  ],
  [
    "it cannot take the revision",
    {
      stored: { asked: [8, done], report: { result: "Refused", code: "GPS235", message: "none" } },
    },
    /8 +Refused +GPS235 +Unfit +none; .* \(50m ago\)$/,
  ],
  [
    "it is asked again after a failure",
    { stored: { asked: [8, done], report: { result: "Failed", code: "GPS218", attempt: late } } },
    /8 +Failed +AtWork$/,
  ],
  [
    "its kubelet does not answer",
    { agent: { ready: false } },
    /GPS334 +Unreachable +the node's kubelet does not answer; .*systemctl.* \(50m ago\)$/,
  ],
  [
    "the agent's image cannot be pulled",
    { agent: { ready: false, state: { waiting: waitingImage } } },
    /GPS336 +AgentStarting +the node's agent does not start: ImagePullBackOff: Back-off pulling image$/,
  ],
  [
    "the kubelet's message contains a token",
    { agent: { ready: false, state: { waiting: refusedImage } } },
    /GPS336 .*: ErrImagePull: GET https:\/\/a\.io\/v2\/\?token=\[redacted\]$/,
  ],
  [
    "the agent's container is being created",
    { agent: { ready: false, state: { waiting: { reason: "ContainerCreating" } } } },
    /- +- +AgentStarting$/,
  ],
  [
    "the agent's pod is being deleted",
    { agent: { metadata: { deletionTimestamp: ago(0) } } },
    /- +- +AgentStarting$/,
  ],
  [
    "only the controller knows the reason",
    {
      agent: "none",
      status: {
        failures: [
          {
            node: "n1",
            code: "GPS337",
            message: "GPS337 the node has no agent pod",
            since: ago(50),
          },
        ],
      },
    },
    /- +- +GPS337 +NoAgentPod +the node has no agent pod; .*describe daemonset .* \(50m ago\)$/,
  ],
  [
    "a withdrawal left it behind",
    {
      agent: "none",
      stored: { report: { ...proved, revision: 7 } },
      status: {
        failures: [{ node: "n1", code: "GPS307", message: "GPS307 it may keep", since: ago(50) }],
      },
    },
    /7 +Proved +GPS307 +it may keep; .*kubectl delete nodepullsecret .* \(50m ago\)$/,
  ],
  ["the rollout is halted", { status: waitingFor("Halted") }, /- +- +Halted$/],
  ["the policy is missing", { status: waitingFor("PolicyMissing") }, /- +- +PolicyMissing$/],
  [
    "another control-plane node is at work",
    { status: waitingFor("ControlPlaneAtWork"), controlPlane: true },
    /- +- +ControlPlaneAtWork$/,
  ],
  [
    "only control-plane nodes wait for another one",
    { status: waitingFor("ControlPlaneAtWork") },
    /- +- +NoPlace$/,
  ],
  [
    "the caller is not allowed to list the control-plane nodes",
    { status: waitingFor("ControlPlaneAtWork"), controlPlane: true, refused: collections.nodes },
    /- +- +NoPlace$/,
  ],
  [
    "nothing shows a revision, because the caller may read no policy",
    { refused: globalPullSecretPath },
    /- +- +NoPlace$/,
  ],
  [
    "it removes the entries in a withdrawal",
    { status: { conditions: conditionsOf("controller", "Withdrawing", "withdrawn") } },
    /- +- +AtWork$/,
  ],
  [
    "the caller is not allowed to read the pods",
    { stored: { asked: [8, done] }, refused: collections.pods },
    /- +- +AtWork$/,
  ],
];
for (const [when, facts, line] of reasons)
  test(`\`nodes\` shows the first reason when ${when}`, async () => {
    const { stored = {}, agent = {}, status = {}, controlPlane, refused, probation } = facts;
    const fake = new FakeCluster();
    if (agent !== "none") pod(fake, "n1", agent);
    if (stored !== "none") node(fake, "n1", stored);
    const role = controlPlane === true && { "node-role.kubernetes.io/control-plane": "" };
    fake.objects.set(`${collections.nodes}/n1`, { metadata: { name: "n1", labels: { ...role } } });
    // A pod of another program, on a node without an agent.
    fake.objects.set(`${collections.pods}/dns`, { metadata: {}, spec: { nodeName: "n0" } });
    if (refused !== undefined) fake.refusals.set(refused, 403);
    const revision = { pending: 8 };
    const spec = probation === undefined ? {} : { rollout: { probation } };
    const whole = object({ spec, status: { revision, conditions: rolling, ...status } });
    fake.objects.set(globalPullSecretPath, whole);
    const { code, out } = await call(["nodes"], { cluster: fake });
    assert.equal(code, 0);
    assert.match(out.split("\n")[1] ?? "", line);
  });

test("`nodes` works without the right to read the GlobalPullSecret", async () => {
  const fake = cluster();
  fake.refusals.set(globalPullSecretPath, 403);
  const { code, out } = await call(["nodes"], { cluster: fake });
  assert.equal(code, 0);
  assert.match(out, /n3 +8 +Failed +GPS218 +Failed .*\n.*n4 .*\n1 of 4 nodes have revision 8\n$/);
});

for (const [when, asked, report, newest] of [
  ["a node was asked for it", [8, done], { ...proved, revision: 7 }, 8],
  ["a node has it, and was not asked", [7, done], { ...proved, revision: 8 }, 8],
  ["a node was asked for it, and has not reported", [9, done], undefined, 9],
] as const)
  test(`\`nodes\` counts nodes with the highest revision of any node without the right to read the GlobalPullSecret, when ${when}`, async () => {
    const fake = new FakeCluster();
    for (const name of ["n1", "n2"]) pod(fake, name);
    node(fake, "n1", { asked, ...(report && { report }) });
    node(fake, "n2", { asked: [7, done], report: { ...proved, revision: 7 } });
    fake.refusals.set(globalPullSecretPath, 403);
    const { out } = await call(["nodes"], { cluster: fake });
    assert.match(out, new RegExp(`of 2 nodes have revision ${newest}\n$`));
  });

const none = "No agent runs; kubectl pull-secret status shows why.\n";

test("`nodes` reports that no agent runs, also before the CRD is installed", async () => {
  const fake = new FakeCluster();
  assert.equal((await call(["nodes"], { cluster: fake })).out, none);
  fake.refusals.set(collections.nodePullSecrets, 404);
  assert.equal((await call(["nodes"], { cluster: fake })).out, none);
  fake.refusals.set(collections.nodePullSecrets, 403);
  assert.equal((await call(["nodes"], { cluster: fake })).code, 1);
});

test("`nodes --waiting` leaves out nodes that have the revision, but counts them", async () => {
  const left = { node: "n4", code: "GPS307", message: "GPS307 it may keep", since: ago(50) };
  const { out } = await call(["nodes", "--waiting"], { cluster: cluster({ failures: [left] }) });
  assert.doesNotMatch(out, /^ {2}n1 /m);
  assert.match(
    out,
    /^ {2}n2 [^]*^ {2}n4 +7 +Proved +GPS307 [^]*\n2 of 4 nodes have revision 8\n$/m,
  );
  const fake = new FakeCluster();
  pod(fake, "n1");
  node(fake, "n1", { asked: [8, done], report: proved });
  const all = await call(["nodes", "--waiting"], { cluster: fake });
  assert.equal(all.out, "1 of 1 nodes have revision 8\n");
});

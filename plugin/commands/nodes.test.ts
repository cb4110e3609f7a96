import assert from "node:assert/strict";
import { test } from "node:test";
import { collections, globalPullSecretPath } from "#kube/client/paths.ts";
import { call, FakeCluster } from "../fake.fixture.ts";
import { object } from "../object.fixture.ts";
import type { Terminal } from "../terminal/io.ts";

type Agent = Readonly<{ ready?: boolean; last?: object; conditions?: readonly object[] }>;

function pod(
  cluster: FakeCluster,
  node: string,
  { ready = false, last, conditions = [] }: Agent = {},
): void {
  cluster.objects.set(`${collections.pods}/${node}`, {
    metadata: {
      name: `syncer-${node}`,
      uid: node,
      annotations: { "globalpullsecret.io/revision": "8" },
    },
    spec: { nodeName: node },
    status: {
      conditions: [{ type: "Ready", status: ready ? "True" : "False" }, ...conditions],
      containerStatuses: [{ name: "agent", ...last }],
    },
  });
}

function probe(cluster: FakeCluster, uid: string, status: number, lastTimestamp: string): void {
  const message = `Readiness probe failed: HTTP probe failed with statuscode: ${status}`;
  const event = { involvedObject: { uid }, message, lastTimestamp };
  cluster.objects.set(`${collections.events}/${uid}-${lastTimestamp}`, event);
}

function cluster(): FakeCluster {
  const fake = new FakeCluster();
  pod(fake, "n1", { ready: true });
  pod(fake, "n3");
  pod(fake, "n2");
  const terminated = { message: "GPS206 /host/kubelet is a link; put it right" };
  pod(fake, "n4", { last: { state: { waiting: {} }, lastState: { terminated } } });
  // The kubelet has reported both codes. The command must show the code of the later Event.
  probe(fake, "n2", 513, "2026-11-23T09:00:05Z");
  probe(fake, "n2", 502, "2026-11-23T09:00:00Z");
  // The kubelet sent this Event before the agent turned ready.
  probe(fake, "n1", 513, "2026-11-23T09:00:00Z");
  return fake;
}

test("`nodes` prints a line for each node, with the code from the kubelet's Event or the termination message", async () => {
  const { code, out } = await call(["nodes"], { cluster: cluster() });
  assert.equal(code, 0);
  const [head = "", n1 = "", n2 = "", n3 = "", n4 = ""] = out.split("\n");
  assert.match(head, /^ {2}NODE +REVISION +READY +CODE$/);
  assert.match(n1, /^ {2}n1 +8 +yes$/);
  assert.match(n2, /^ {2}n2 +8 +no +GPS213 +the kubelet is restarting; .* \(\d+[a-z]\w* ago\)$/);
  assert.match(n3, /^ {2}n3 +8 +no +no report yet$/);
  assert.match(n4, /^ {2}n4 +8 +no +GPS206 +\/host\/kubelet is a link; put it right$/);
});

test("`nodes -o json` is a list of a stable shape", async () => {
  const { out } = await call(["nodes", "-o", "json"], { cluster: cluster() });
  const [first, second] = JSON.parse(out) as object[];
  assert.deepEqual(first, { node: "n1", pod: "syncer-n1", revision: 8, ready: true, message: "" });
  assert.deepEqual(Object.keys(second ?? {}), [
    "node",
    "pod",
    "revision",
    "ready",
    "code",
    "message",
    "since",
  ]);
});

const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
const ready = (status: string, minutes = 50) => ({
  type: "Ready",
  status,
  lastTransitionTime: ago(minutes),
});
const waiting = { reason: "ImagePullBackOff", message: "Back-off pulling image" };
const token = "eyJhbGciOiJub25lIn0.pl4nted";
const pulled = { reason: "ErrImagePull", message: `GET https://a.io/v2/?token=${token} failed` };
const failure = (node: string, text: string) => {
  const [code = ""] = /^GPS\d{3}/.exec(text) ?? [];
  return { node, ...(code !== "" && { code }), message: text, since: ago(50) };
};

/**
 * The facts about node n1, and the line that the command prints. There is also an old Event, except
 * with `isSilent`.
 */
const reasons: readonly (readonly [
  when: string,
  known: Readonly<{
    agent?: Agent;
    node?: string;
    failure?: string;
    isPodless?: boolean;
    isSilent?: boolean;
    refused?: boolean;
  }>,
  line: RegExp,
])[] = [
  ["only the Event is known", {}, /8 +no +GPS213 +the kubelet is restarting; .* \(50m ago\)$/],
  ["the Node is Ready", { node: "True" }, /GPS213 .* \(50m ago\)$/],
  [
    "the kubelet is down",
    { node: "Unknown" },
    /GPS334 +the node's kubelet does not answer; .*systemctl status kubelet.* \(50m ago\)$/,
  ],
  [
    "the kubelet is down, and the caller is not allowed to read the Node",
    { agent: { conditions: [{ type: "ContainersReady", status: "True" }] }, refused: true },
    /GPS334 +the node's kubelet does not answer; /,
  ],
  [
    "the agent's image cannot be pulled",
    { agent: { last: { state: { waiting } } } },
    /GPS336 +the node's agent does not start: ImagePullBackOff: Back-off pulling image$/,
  ],
  [
    "the kubelet's message contains a token",
    { agent: { last: { state: { waiting: pulled } } } },
    /GPS336 .*: ErrImagePull: GET https:\/\/a\.io\/v2\/\?token=\[redacted\] failed$/,
  ],
  [
    "the agent's container is being created",
    { agent: { last: { state: { waiting: { reason: "ContainerCreating" } } } }, isSilent: true },
    /8 +no +no report yet$/,
  ],
  [
    "only the controller reports a reason",
    { failure: "GPS335 the node's agent did not answer in time", isSilent: true },
    /GPS335 +the node's agent did not answer in time; kubectl pull-secret nodes .* \(50m ago\)$/,
  ],
  [
    "the node has no agent pod",
    { failure: "GPS337 the node has no agent pod", isPodless: true },
    /- +no +GPS337 +the node has no agent pod; .*kubectl describe daemonset .* \(50m ago\)$/,
  ],
];
for (const [when, facts, line] of reasons)
  test(`\`nodes\` shows the newest reason when ${when}`, async () => {
    const fake = new FakeCluster();
    if (facts.isPodless !== true) pod(fake, "n1", facts.agent);
    if (facts.isSilent !== true) probe(fake, "n1", 513, ago(50));
    const path = `${collections.nodes}/n1`;
    if (facts.node !== undefined)
      fake.objects.set(path, {
        metadata: { name: "n1" },
        status: { conditions: [ready(facts.node)] },
      });
    if (facts.refused === true) fake.refusals.set(path, 403);
    const failures = facts.failure === undefined ? [] : [failure("n1", facts.failure)];
    fake.objects.set(globalPullSecretPath, object({ status: { failures } }));
    const { code, out } = await call(["nodes"], { cluster: fake });
    assert.equal(code, 0);
    assert.match(out.split("\n")[1] ?? "", line);
  });

test("`nodes` counts the nodes that have no agent and are not listed in status.failures", async () => {
  const fake = new FakeCluster();
  pod(fake, "n1", { ready: true });
  const counts = { summary: "1/4", updated: 1, available: 1, unfit: 0, unreachable: 3, failed: 0 };
  const failures = [failure("n2", "GPS337 the node has no agent pod")];
  fake.objects.set(
    globalPullSecretPath,
    object({ status: { nodes: { desired: 4, ...counts }, failures } }),
  );
  const { out } = await call(["nodes"], { cluster: fake });
  assert.match(out, /\n1 of 2 agents are ready\n2 more nodes have no agent; kubectl describe /);
});

test("`nodes` works without the right to read the GlobalPullSecret", async () => {
  const fake = cluster();
  fake.refusals.set(globalPullSecretPath, 403);
  const { code, out } = await call(["nodes"], { cluster: fake });
  assert.deepEqual([code, /n3 +8 +no +no report yet/.test(out)], [0, true]);
});

test("`nodes` reports that no agent runs", async () => {
  const { out } = await call(["nodes"]);
  assert.match(out, /^No agent runs/);
});

/** Watches the pods until n3 turns ready. Returns the output until then. */
async function watched(argv: readonly string[], terminal?: Terminal): Promise<string> {
  const fake = cluster();
  const enough = new AbortController();
  const events = fake.pages.bind(fake);
  let rounds = 0;
  fake.pages = async (path, ...rest) => {
    await events(path, ...rest);
    rounds += Number(path === collections.events);
  };
  fake.stream = async (_, __, signal, line) => {
    pod(fake, "n3", { ready: true });
    const stored = fake.objects.get(`${collections.pods}/n3`) as { metadata: object };
    const object = { ...stored, metadata: { ...stored.metadata, resourceVersion: "101" } };
    line(JSON.stringify({ type: "MODIFIED", object }));
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
  };
  const received = () => void (rounds > 1 && enough.abort());
  const setting = { cluster: fake, signal: enough.signal, received, ...(terminal && { terminal }) };
  const { code, out } = await call(["nodes", "--watch", ...argv], setting);
  assert.equal(code, 0);
  return out;
}

test("without a terminal, `nodes --watch` prints only the changed lines", async () => {
  const out = await watched([]);
  assert.equal(out.match(/^ {2}n1 /gm)?.length, 1);
  assert.match(out, /^ {2}n3 +8 +no [^]*^ {2}n3 +8 +yes$/m);
});

test("`nodes --watch --not-ready` redraws on a terminal, and drops a node that has turned ready", async () => {
  const out = await watched(["--not-ready"], { columns: 80, colour: false });
  const [, first = "", second = ""] = out.split("\u001b[H\u001b[J");
  assert.match(first, /^ {2}n3 [^]*\n1 of 4 agents are ready\n$/m);
  assert.doesNotMatch(second, /^ {2}n3 /m);
  assert.match(second, /\n2 of 4 agents are ready\n$/);
});

test("`nodes --not-ready` leaves out ready nodes, but counts them", async () => {
  const { out } = await call(["nodes", "--not-ready"], { cluster: cluster() });
  assert.doesNotMatch(out, /^ {2}n1 /m);
  assert.match(out, /^ {2}n2 [^]*\n1 of 4 agents are ready\n$/m);
  const fake = new FakeCluster();
  pod(fake, "n1", { ready: true });
  const all = await call(["nodes", "--not-ready"], { cluster: fake });
  assert.equal(all.out, "1 of 1 agents are ready\n");
});

import assert from "node:assert/strict";
import { test } from "node:test";
import type { V1DaemonSet, V1Node } from "@kubernetes/client-node";
import { agent } from "#controller/objects/agent.fixture.ts";
import { daemonSet } from "#controller/objects/daemonset.ts";
import { collections } from "#kube/client/paths.ts";
import { FakeApi } from "#test/harness/api/api.ts";
import { directly } from "#test/harness/api/direct.ts";
import { refuse } from "#test/harness/api/protocol.ts";
import { Store } from "#test/harness/api/store.ts";
import type { AgentPod } from "./pods.ts";
import { RootMounts } from "./root-mount.ts";

type Handlers = NonNullable<V1Node["status"]>["runtimeHandlers"];
type Ready = "Ready" | "not Ready";

const can: Handlers = [
  { name: "gvisor", features: { recursiveReadOnlyMounts: false } },
  { name: "", features: { recursiveReadOnlyMounts: true } },
];
const cannot: Handlers = [{ name: "", features: { recursiveReadOnlyMounts: false } }];
const linux = { "kubernetes.io/os": "linux" };

/** A cluster with Nodes that change. Counts how often Nodes are listed or read. */
class Nodes {
  readonly #api = new FakeApi(new Store(() => new Date()));
  readonly #kubelets = directly(this.#api, "kubelet");
  readonly cluster = directly(this.#api, "test");
  isBroken = false;

  constructor() {
    this.#api.refuses = (_request, verb) =>
      this.isBroken && verb === "list" ? refuse(403, "Forbidden", "no right") : undefined;
  }

  async put(
    name: string,
    handlers: Handlers,
    ready: Ready = "Ready",
    labels: Record<string, string> = linux,
  ): Promise<void> {
    this.leave(name);
    const conditions = [{ type: "Ready", status: ready === "Ready" ? "True" : "False" }];
    const status = { conditions, ...(handlers && { runtimeHandlers: handlers }) };
    await this.#kubelets.create(collections.nodes, { metadata: { name, labels }, status });
  }

  leave(name: string): void {
    this.#api.answer({ method: "DELETE", path: `${collections.nodes}/${name}` });
  }

  get reads(): number {
    return this.#api.asked.filter(({ verb, userAgent }) => verb === "list" && userAgent === "test")
      .length;
  }
}

async function nodesWith(...nodes: readonly Parameters<Nodes["put"]>[]): Promise<Nodes> {
  const found = new Nodes();
  for (const node of nodes) await found.put(...node);
  return found;
}

const live = daemonSet(agent);
const skipping = daemonSet({ ...agent, hiddenFiles: "Skip" });
const stuck = [{ waitingReason: "CreateContainerConfigError" } as AgentPod];

/** The inputs that a test can set. */
type Asked = Readonly<{ pods?: readonly AgentPod[]; isRemoval?: boolean }>;

/**
 * Returns a function that decides for a given time: `search` if agents search, otherwise the nodes
 * that prevent the search.
 */
function asking({ cluster }: Nodes, changes: Partial<typeof agent> = {}) {
  const mounts = new RootMounts();
  return async (steady: number, template?: V1DaemonSet, asked: Asked = {}) => {
    const looked = { cluster, agent: { ...agent, ...changes }, steady };
    const given = { ...looked, pods: [], isRemoval: false, ...asked };
    const { skips, names } = await mounts.find({ daemonSet: template }, given);
    return skips ? names : "search";
  };
}

for (const [what, handlers, isAble, ready = "Ready"] of [
  ["reports support", can, true],
  [
    "reports support for a handler without a name",
    [{ features: { recursiveReadOnlyMounts: true } }],
    true,
  ],
  ["is Ready and reports no handlers, as before 1.31", undefined, false],
  ["is Ready and reports an empty list", [], false],
  ["reports a handler without features", [{ name: "" }], false],
  ["reports no support", cannot, false],
  ["reports no support and is not Ready", cannot, false, "not Ready"],
  [
    "reports support only for another handler",
    [{ name: "runc", features: { recursiveReadOnlyMounts: true } }],
    false,
  ],
] as readonly (readonly [string, Handlers, boolean, Ready?])[])
  test(`a node that ${what} ${isAble ? "allows" : "prevents"} the mount of the root directory`, async () => {
    const ask = asking(await nodesWith(["a", can], ["b", handlers, ready]));
    assert.deepEqual(await ask(0), isAble ? "search" : ["b"]);
  });

test("considers only nodes that are served", async () => {
  const nodes = await nodesWith(
    ["a", can, "Ready", { ...linux, pool: "x" }],
    ["windows", undefined, "Ready", { "kubernetes.io/os": "windows" }],
    ["excluded", cannot],
  );
  const pool = { requirements: [], text: "pool=x" };
  assert.deepEqual(await asking(nodes, { pod: { ...agent.pod, nodes: pool } })(0), "search");
  assert.deepEqual(await asking(nodes)(0), ["excluded"]);
});

test("lists no Nodes if the installer switches the search off", async () => {
  const nodes = await nodesWith(["a", undefined]);
  assert.equal(await asking(nodes, { hiddenFiles: "Ignore" })(0), "search");
  assert.equal(nodes.reads, 0);
});

test("lists Nodes once, and not at all if pods mount the root directory already", async () => {
  const nodes = await nodesWith(["a", can]);
  const ask = asking(nodes);
  for (let seconds = 0; seconds < 300; seconds += 100) assert.equal(await ask(seconds), "search");
  assert.equal(nodes.reads, 1);
  assert.equal(await asking(nodes)(0, live), "search");
  assert.equal(nodes.reads, 1);
});

test("when a pod does not start, lists Nodes again, at most once a minute, and keeps the result", async () => {
  const nodes = await nodesWith(["a", can]);
  const ask = asking(nodes);
  assert.equal(await ask(0, live, { pods: stuck }), "search");
  await nodes.put("old", undefined);
  assert.deepEqual([await ask(59, live, { pods: stuck }), nodes.reads], ["search", 1]);
  const others = [{ waitingReason: "ImagePullBackOff" } as AgentPod];
  assert.equal(await ask(60, live, { pods: others }), "search");
  assert.deepEqual([await ask(60, live, { pods: stuck }), nodes.reads], [["old"], 2]);
  nodes.leave("old");
  assert.deepEqual([await ask(600, live), nodes.reads], [["old"], 2]);
});

for (const handlers of [undefined, []])
  test(`reads a node again if it is not Ready and reports ${handlers === undefined ? "no handlers" : "an empty list"}`, async () => {
    const nodes = await nodesWith(["a", can], ["joining", handlers, "not Ready"]);
    const ask = asking(nodes);
    assert.deepEqual([await ask(0), await ask(29), nodes.reads], ["search", "search", 1]);
    await nodes.put("joining", can);
    assert.deepEqual([await ask(30), await ask(900), nodes.reads], ["search", "search", 2]);
  });

test("mounts no root directory if an undecided node turns Ready and reports no support for the mount", async () => {
  const nodes = await nodesWith(["a", can], ["joining", [], "not Ready"]);
  const ask = asking(nodes);
  assert.equal(await ask(0), "search");
  await nodes.put("joining", cannot);
  assert.deepEqual([await ask(30), await ask(90)], [["joining"], ["joining"]]);
});

test("forgets an undecided node that is gone", async () => {
  const nodes = await nodesWith(["a", can], ["joining", [], "not Ready"]);
  const ask = asking(nodes);
  await ask(0);
  nodes.leave("joining");
  await ask(30);
  assert.deepEqual([await ask(900), nodes.reads], ["search", 2]);
});

test("forgets an undecided node that is no longer served", async () => {
  const labels = { ...linux, pool: "x" };
  const nodes = await nodesWith(["a", can, "Ready", labels], ["b", [], "not Ready", labels]);
  const pool = { requirements: [], text: "pool=x" };
  const ask = asking(nodes, { pod: { ...agent.pod, nodes: pool } });
  assert.equal(await ask(0), "search");
  await nodes.put("b", cannot);
  assert.deepEqual([await ask(30), await ask(900), nodes.reads], ["search", "search", 2]);
});

test("while a node stays down, reads it again at intervals that grow to ten minutes", async () => {
  const nodes = await nodesWith(["a", can], ["down", [], "not Ready"]);
  const ask = asking(nodes);
  const reads: number[] = [];
  for (let seconds = 0; seconds <= 2400; seconds += 30) {
    const before = nodes.reads;
    assert.equal(await ask(seconds), "search");
    if (nodes.reads > before) reads.push(seconds);
  }
  assert.deepEqual(reads, [0, 30, 90, 210, 450, 930, 1530, 2130]);
});

test("skips the search while no node has answered, and begins it with the first answer", async () => {
  const nodes = await nodesWith(["a", [], "not Ready"], ["b", undefined, "not Ready"]);
  const ask = asking(nodes);
  assert.deepEqual(await ask(0), ["a", "b"]);
  assert.deepEqual(await ask(30, skipping), ["a", "b"]);
  await nodes.put("b", can);
  assert.equal(await ask(60, skipping), "search");
});

test("requests another run only while a node is undecided, or after a failed list", async () => {
  const nodes = await nodesWith(["a", can], ["b", [], "not Ready"]);
  const mounts = new RootMounts();
  const again = async (steady: number) => {
    const looked = { cluster: nodes.cluster, agent, pods: [], steady, isRemoval: false };
    return (await mounts.find({ daemonSet: skipping }, looked)).again;
  };
  nodes.isBroken = true;
  assert.equal(await again(0), 5);
  nodes.isBroken = false;
  assert.deepEqual([await again(5), await again(15)], [30, 20]);
  await nodes.put("b", can);
  assert.equal(await again(35), Number.POSITIVE_INFINITY);
});

for (const [template, expected] of [
  [live, "search"],
  [skipping, []],
] as const)
  test(`keeps a template that ${expected === "search" ? "mounts the root directory" : "does not mount it"} while Nodes cannot be listed`, async () => {
    const nodes = await nodesWith(["a", can]);
    nodes.isBroken = true;
    const ask = asking(nodes);
    assert.deepEqual(await ask(0, template, { pods: stuck }), expected);
    nodes.isBroken = false;
    assert.equal(await ask(5, template, { pods: stuck }), "search");
  });

test("writes no first template until Nodes can be listed", async () => {
  const nodes = await nodesWith(["a", can]);
  nodes.isBroken = true;
  const ask = asking(nodes);
  await assert.rejects(ask(0), /no right/);
  nodes.isBroken = false;
  assert.equal(await ask(5), "search");
});

test("during a removal, lists no Nodes, and mounts the root directory only if the live template does and its pods start", async () => {
  const nodes = await nodesWith(["a", can]);
  const isRemoval = true;
  const ask = asking(nodes);
  assert.equal(await ask(0, live, { isRemoval }), "search");
  assert.deepEqual(await ask(0, live, { isRemoval, pods: stuck }), []);
  assert.deepEqual(await ask(0, skipping, { isRemoval }), []);
  assert.deepEqual(await ask(0, undefined, { isRemoval }), []);
  assert.equal(nodes.reads, 0);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import type { V1Node } from "@kubernetes/client-node";
import { agent } from "#controller/objects/agent.fixture.ts";
import { daemonSet } from "#controller/objects/daemonset.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import type { AgentPod } from "./pods.ts";
import { RootMounts } from "./root-mount.ts";

type Handlers = NonNullable<V1Node["status"]>["runtimeHandlers"];

const can: Handlers = [
  { name: "gvisor", features: { recursiveReadOnlyMounts: false } },
  { name: "", features: { recursiveReadOnlyMounts: true } },
];
const rows: readonly (readonly [what: string, handlers: Handlers, can: boolean])[] = [
  ["reports it", can, true],
  [
    "reports it of a handler without a name",
    [{ features: { recursiveReadOnlyMounts: true } }],
    true,
  ],
  ["reports no handlers, as before 1.31", undefined, false],
  ["reports no features", [{ name: "" }], false],
  ["reports that it cannot", [{ name: "", features: { recursiveReadOnlyMounts: false } }], false],
  [
    "reports it of another handler",
    [{ name: "runc", features: { recursiveReadOnlyMounts: true } }],
    false,
  ],
];

/** A cluster with these nodes, and how often they were listed. */
function clusterOf(nodes: Map<string, Handlers>) {
  let lists = 0;
  const pages = async (_path: string, _query: object, each: (items: V1Node[]) => void) => {
    lists += 1;
    for (const [name, runtimeHandlers] of nodes)
      each([{ metadata: { name }, status: { ...(runtimeHandlers && { runtimeHandlers }) } }]);
  };
  return { cluster: { pages } as unknown as Cluster, lists: () => lists };
}

const looking = { agent, pods: [], steady: 0 };
const live = daemonSet(agent);
const none = { daemonSet: undefined };

for (const [what, handlers, isAble] of rows)
  test(`a node that ${what} ${isAble ? "allows" : "prevents"} the mount of the root directory`, async () => {
    const { cluster } = clusterOf(
      new Map([
        ["a", can],
        ["b", handlers],
      ]),
    );
    const lacking = await new RootMounts().lacking(none, { ...looking, cluster });
    assert.deepEqual(lacking, isAble ? [] : ["b"]);
  });

test("lists no Nodes where the installer wants no search", async () => {
  const { cluster, lists } = clusterOf(new Map([["a", undefined]]));
  const ignoring = { ...looking, cluster, agent: { ...agent, hiddenFiles: "Ignore" as const } };
  assert.deepEqual(await new RootMounts().lacking(none, ignoring), []);
  assert.equal(lists(), 0);
});

test("lists Nodes once, and not at all where pods mount the root directory already", async () => {
  const { cluster, lists } = clusterOf(new Map([["a", can]]));
  const mounts = new RootMounts();
  for (let run = 0; run < 3; run += 1) await mounts.lacking(none, { ...looking, cluster });
  assert.equal(lists(), 1);
  await new RootMounts().lacking({ daemonSet: live }, { ...looking, cluster });
  assert.equal(lists(), 1);
});

test("looks again when a pod is not made, at most once a minute, and stays with what it found", async () => {
  const nodes = new Map<string, Handlers>([["a", can]]);
  const { cluster, lists } = clusterOf(nodes);
  const mounts = new RootMounts();
  const stuck = [{ waitingReason: "CreateContainerConfigError" } as AgentPod];
  const at = (steady: number, pods: readonly AgentPod[] = stuck) =>
    mounts.lacking({ daemonSet: live }, { ...looking, cluster, pods, steady });
  assert.deepEqual(await at(0), []);
  nodes.set("old", undefined);
  assert.deepEqual([await at(59), lists()], [[], 1]);
  assert.deepEqual(await at(60, [{ waitingReason: "ImagePullBackOff" } as AgentPod]), []);
  assert.deepEqual([await at(60), lists()], [["old"], 2]);
  nodes.delete("old");
  assert.deepEqual([await at(600, []), lists()], [["old"], 2]);
});

/** Breakages of the fleet's controller. */
import type { Mutant } from "./mutant.ts";

const real = "test/fleet/fleet.test.ts";
const content = "fleet/secret/content.test.ts";
const order = "fleet/order/order.test.ts";
const standing = "fleet/order/standing.test.ts";
const resourceSet = "fleet/way/resource-set.test.ts";
const clusterAPI = "test/fleet/clusterapi.test.ts";
const proof = "fleet/way/proof.test.ts";

export const fleet: readonly Mutant[] = [
  {
    breaks: "K1",
    effect: "the fleet's Secret is brought to no cluster",
    file: "fleet/fleet.ts",
    text: "void this.#guests.get(name)?.change(source.content, owner);",
    instead: "continue;",
    tests: [real],
  },
  {
    breaks: "K2",
    effect: "the object's own name for the source is not heeded",
    file: "fleet/fleet.ts",
    text: "const { name } = spec.secretRef;",
    instead: "const name = `${spec.secretRef.name}-x`;",
    tests: [real],
  },
  {
    breaks: "K3",
    effect: "every namespace is served, whatever its labels",
    file: "fleet/inventory/cluster-api.ts",
    text: 'labelSelector === "" ? {} : { labelSelector }',
    instead: "{}",
    tests: [real],
  },
  {
    breaks: "K6",
    effect: "what a cluster has is taken for the Secret, whatever its content",
    file: "fleet/secret/content.ts",
    text: "data[name] === content.data[name])",
    instead: "true)",
    tests: [content],
  },
  {
    breaks: "K7",
    effect: "a fleet's Secret that is no pull secret reaches no cluster",
    file: "fleet/secret/content.ts",
    text: "if (openOneCluster.has(type)) return",
    instead: "if (type !== secretType) return",
    tests: [content],
  },
  {
    breaks: "K8",
    effect: "without its Secret an object takes it for an empty one",
    file: "fleet/secret/content.ts",
    text: "if (secret === undefined)",
    instead: "if (secret === null)",
    tests: [content],
  },
  {
    breaks: "K9",
    effect: "a change of the Secret is brought to no cluster that has it already",
    file: "fleet/way/secret-at.ts",
    text: "isPlacedBy(found, owner) && has(found, made(content, owner))",
    instead: "isPlacedBy(found, owner)",
    tests: [real],
  },
  {
    effect: "a Secret that somebody else placed in a cluster is overwritten",
    file: "fleet/guest/guest.ts",
    text: "one !== undefined && !isPlacedBy(one, owner)",
    instead: "one === null",
    tests: [real],
  },
  {
    effect: "a cluster that cannot be reached is the canary for ever",
    file: "fleet/order/order.ts",
    text: 'standing !== "unreachable").length',
    instead: "standing !== undefined).length",
    tests: [order],
  },
  {
    effect: "a refused change goes on to all other clusters",
    file: "fleet/order/order.ts",
    text: 'halted ? named("retry") :',
    instead: "",
    tests: [order],
  },
  {
    effect: "a content that was read is taken for one that the nodes have",
    file: "fleet/way/proof.ts",
    text: 'reaches(verdict["servedResourceVersion"], version)',
    instead: 'reaches(verdict["resourceVersion"], version)',
    tests: [proof],
  },
  {
    effect: "what a cluster writes into its object is repeated in ours",
    file: "fleet/way/proof.ts",
    text: "/^[A-Za-z]{1,64}$/.test(value)",
    instead: "value.length < 64",
    tests: [proof],
  },
  {
    effect: "a cluster gives up its place before it has had the content long enough",
    file: "fleet/order/order.ts",
    text: 'named("busy", "soaking").length',
    instead: 'named("busy").length',
    tests: [order],
  },
  {
    effect: "a cluster whose nodes are late is waited for whatever its deadline",
    file: "fleet/order/standing.ts",
    text: "if (now >= end)",
    instead: "if (now > end + 1e9)",
    tests: [standing],
  },
  {
    breaks: "K4",
    effect: "Cluster API does not take the Secret, which is of no type that it knows",
    file: "fleet/way/resource-set.ts",
    text: 'const type = "addons.cluster.x-k8s.io/resource-set";',
    instead: 'const type = "Opaque";',
    tests: [resourceSet],
  },
  {
    breaks: "K5",
    effect: "a rotation is applied in no cluster that had the content before",
    file: "fleet/way/resource-set.ts",
    text: 'strategy: "Reconcile"',
    instead: 'strategy: "ApplyOnce"',
    tests: [resourceSet],
  },
  {
    breaks: "K12",
    effect: "a cluster of another name than its namespace's is looked for under that one",
    file: "fleet/inventory/cluster-api.ts",
    text: '[namespace = "", own = namespace] = cluster.split(":")',
    instead: '[namespace = ""] = cluster.split(":"), own = namespace',
    tests: [clusterAPI],
  },
  {
    effect: "a new process forgets that the nodes of a cluster failed",
    file: "fleet/guests.ts",
    text: 'Failed: "failed",',
    instead: 'Failed: "unreachable",',
    tests: ["test/fleet/proof.test.ts"],
  },
  {
    effect: "a cluster that lost what it had waits until others are done",
    file: "fleet/order/order.ts",
    text: "change: [...repairs, ...candidates",
    instead: "change: [...candidates",
    tests: [order],
  },
  {
    effect: "a renewed kubeconfig is read only when the old one's watch has ended",
    file: "fleet/guest/link.ts",
    text: "this.#renew ||= !answered;",
    instead: "void answered;",
    tests: ["test/fleet/faults.test.ts"],
  },
];

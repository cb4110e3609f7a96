/** Breakages of joined clusters. */
import type { Mutant } from "./mutant.ts";

const real = "test/clusters/clusters.test.ts";
const conditions = "fleet/joined/conditions.test.ts";
const provider = "fleet/inventory/provider.test.ts";
const profiles = "fleet/inventory/cluster-profiles.test.ts";

export const clusters: readonly Mutant[] = [
  {
    breaks: "M1",
    effect: "a join leaves nothing that says where the cluster is",
    file: "cli/clusters/join.ts",
    text: "await host.apply(`${profilePath(name)}/status`, access, how);",
    instead: "void access;",
    tests: [real],
  },
  {
    breaks: "M2",
    effect: "a cluster that refuses the token is told as joined",
    file: "fleet/joined/conditions.ts",
    text: 'return { status: "False", reason: "TokenRefused", message };',
    instead: 'return { status: "True", reason: "TokenRefused", message };',
    tests: [conditions],
  },
  {
    breaks: "M3",
    effect: "only the context that a cluster was joined with leads there",
    file: "cli/clusters/contexts.ts",
    text: "const context = contexts.has(name) ? name : asJoined;",
    instead: "const context = asJoined;",
    tests: [real],
  },
  {
    effect: "a context that leads to another cluster is written to",
    file: "cli/clusters/contexts.ts",
    text: "if ((await clusterId(cluster)) === idOf(profile)) return;",
    instead: "if ((await clusterId(cluster)) !== context) return;",
    tests: [real],
  },
  {
    breaks: "M4",
    effect: "without names no cluster is meant",
    file: "cli/clusters/contexts.ts",
    text: "names.length === 0 ||",
    instead: "names.length < 0 ||",
    tests: [real],
  },
  {
    breaks: "M5",
    effect: "what is told as created is written nowhere",
    file: "cli/clusters/apply.ts",
    text: "const after = await cluster.apply<Named>(path, body, how);",
    instead: "const after = await cluster.apply<Named>(path, body, { ...how, dryRun: true });",
    tests: [real],
  },
  {
    breaks: "M6",
    effect: "an object is not applied where its definition came with it",
    file: "cli/clusters/place.ts",
    text: "if (!wait || attempt === attempts)",
    instead: "if (attempt > 0)",
    tests: [real],
  },
  {
    breaks: "M7",
    effect: "every object comes into the namespace default",
    file: "cli/clusters/place.ts",
    text: 'found.namespaced ? (metadata.namespace ?? "default") : undefined',
    instead: 'found.namespaced ? "default" : undefined',
    tests: [real],
  },
  {
    breaks: "M13",
    effect: "a removed cluster keeps the account, whose token still opens it",
    file: "cli/clusters/leave.ts",
    text: "    paths.account,\n",
    instead: "",
    tests: [real],
  },
  {
    effect: "a profile names any token of its namespace for a server of its author's",
    file: "fleet/inventory/provider.ts",
    text: "if (named !== name) return",
    instead: "if (named === undefined) return",
    tests: [provider],
  },
  {
    effect: "a profile names a kubeconfig of any namespace",
    file: "fleet/inventory/provider.ts",
    text: "if (where !== namespace) return",
    instead: "if (where === undefined) return",
    tests: [provider],
  },
  {
    effect: "a profile of any manager is served",
    file: "fleet/inventory/cluster-profiles.ts",
    text: "if (managers.has(spec.clusterManager.name))",
    instead: "if (managers.size > 0)",
    tests: [profiles],
  },
];

/** Breakages of joined clusters. */
import type { Mutant } from "./mutant.ts";

const real = "test/clusters/clusters.test.ts";
const theft = "test/clusters/theft.test.ts";
const cut = "test/clusters/cut.long.test.ts";
const place = "cli/clusters/place.test.ts";
const conditions = "fleet/joined/conditions.test.ts";
const provider = "fleet/inventory/provider.test.ts";
const profiles = "fleet/inventory/cluster-profiles.test.ts";

export const clusters: readonly Mutant[] = [
  {
    breaks: "M1",
    effect: "a join leaves nothing that says where the cluster is",
    file: "cli/joining/join.ts",
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
    effect: "a cluster whose etcd is down is told as one that cannot be reached",
    file: "fleet/joined/joined.ts",
    text: "const guarded = ready ? await isGuarded(cluster) : undefined;",
    instead: "const guarded = await isGuarded(cluster);",
    tests: [real],
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
    tests: [place],
  },
  {
    breaks: "M7",
    effect: "every object comes into the namespace default",
    file: "cli/clusters/place.ts",
    text: 'found.namespaced ? (metadata.namespace ?? "default") : undefined',
    instead: 'found.namespaced ? "default" : undefined',
    tests: [place],
  },
  {
    breaks: "M13",
    effect: "a removed cluster keeps the account, whose token still opens it",
    file: "cli/joining/departure.ts",
    text: "dropAll([paths.account, paths.bound,",
    instead: "dropAll([paths.bound,",
    tests: [real],
  },
  {
    effect: "a joined account turns a Secret into another account's token",
    file: "contract/joined/guards.ts",
    text: '{ resources: ["secrets"], operations: ["CREATE", "UPDATE"] },',
    instead: '{ resources: ["secrets"], operations: ["CREATE"] },',
    tests: [theft],
  },
  {
    effect: "a joined account makes itself a token that is bound to a Secret of its own",
    file: "contract/joined/guards.ts",
    text: "`object.spec.boundObjectRef.name == '${boundName}' && ` +",
    instead: "`object.spec.boundObjectRef.name != '' && ` +",
    tests: [theft],
  },
  {
    effect: "a joined account's token is good for as long as it asks",
    file: "contract/joined/guards.ts",
    text: "`object.spec.expirationSeconds <= ${tokenSeconds}`,",
    instead: "`object.spec.expirationSeconds > ${tokenSeconds * 0}`,",
    tests: [theft],
  },
  {
    effect: "a join believes that the policies are in force",
    file: "cli/joining/guard-check.ts",
    text: "if (refused.every(Boolean)) return;",
    instead: "if (refused.length > 0) return;",
    tests: [theft],
  },
  {
    effect: "a policy that somebody changed is told as the one that was made",
    file: "fleet/joined/guards.ts",
    text: "covers(live[at]?.spec, body.spec)",
    instead: "covers(live[at], {})",
    tests: ["fleet/joined/guards.test.ts"],
  },
  {
    effect: "a join that is killed leaves an account that nobody finds",
    file: "cli/joining/join.ts",
    text: "const { metadata } = await host.apply<ClusterProfile>(profilePath(name), wanted, how);",
    instead:
      "const { metadata } = await host.apply<ClusterProfile>(profilePath(name), wanted, { ...how, dryRun: true });",
    tests: [cut],
  },
  {
    effect: "a removal that is killed forgets which Secrets were placed",
    file: "cli/joining/departure.ts",
    text: 'await dropAll(\n    spaces.map((where) => pathOf("rolebindings", where)),\n    made,\n  );',
    instead:
      'await dropAll(spaces.flatMap((one) => [pathOf("rolebindings", one), pathOf("roles", one)]), made);',
    tests: [cut],
  },
  {
    effect: "an address of the caller's own machine is given to the host's controller",
    file: "cli/joining/address.ts",
    text: "if (given.server === undefined && isLoopback(server))",
    instead: "if (given.server === server && isLoopback(server))",
    tests: ["cli/joining/address.test.ts"],
  },
  {
    effect: "a token is believed to be good for as long as was asked",
    file: "kube/token.ts",
    text: "return { token, issued, expires };",
    instead: "return { token, issued, expires: new Date(issued.getTime() + tokenSeconds * 1000) };",
    tests: [cut],
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
  {
    effect: "a context that is given empty is the current one, and the host joins itself",
    file: "contract/flags.ts",
    text: 'values.includes(undefined) ? "empty" : undefined',
    instead: 'values.includes(null) ? "empty" : undefined',
    tests: ["contract/flags.test.ts", "cli/commands/clusters/join.test.ts"],
  },
  {
    effect: "a join again that took rights away says that they are as before",
    file: "cli/joining/undo.ts",
    text: 'if (same || !made.some((path) => path.includes("/roles/")))',
    instead: "if (same || made.length > 0)",
    tests: ["cli/joining/join.test.ts"],
  },
  {
    effect: "a joined cluster's API server writes to the caller's terminal what it likes",
    file: "cli/terminal/writing.ts",
    text: "write(`${escape(line)}\\n`);",
    instead: "write(`${line}\\n`);",
    tests: ["cli/terminal/writing.test.ts"],
  },
];

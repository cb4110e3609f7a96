/** The product's main task on a real cluster of two nodes, from the first Secret to its removal. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import * as names from "#contract/names.ts";
import { stays, until } from "../cluster/await.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import { assertNoLeak, withSecretInKey } from "./leaks.ts";
import * as task from "./main-task.ts";
import { agentOn, auths, kubelets } from "./nodes.ts";
import { pullRefused } from "./pods.ts";
import * as product from "./product.ts";

let cluster: Cluster;
let image: string;
/** The users of the private registry before the rotation. */
let firstUsers: Readonly<Record<string, string>>;

before(async () => {
  cluster = await startCluster();
  firstUsers = cluster.registry.users;
  image = await cluster.pushApp("team/app:1");
  await task.install(cluster);
});
after(() => cluster?.down());

function nodes() {
  return cluster.nodes;
}

/** Role → the name of the program in its containers. */
const programs = { agent: "agent", controller: "controller" } as const;

/**
 * For each process of this role on any node: a function that reads a file of /proc/PID. The
 * function runs cat on the node, because our image has no shell.
 */
async function processes(
  role: keyof typeof programs,
): Promise<((file: string) => Promise<string>)[]> {
  const search = [
    "sh",
    "-c",
    `grep -l '/app/${programs[role]}[.]cjs' /proc/[0-9]*/cmdline || true`,
  ];
  const readers = await Promise.all(
    nodes().map(async (node) =>
      (await node.exec(search))
        .split("\n")
        .filter(Boolean)
        .map((path) => (file: string) => node.exec(["cat", path.replace(/cmdline$/, file)])),
    ),
  );
  return readers.flat();
}

/** Asserts that each node has the registry's present password. */
function assertServed(): void {
  const { host } = cluster.registry;
  for (const node of nodes())
    assert.equal(auths(node)[host]?.auth, cluster.registry.auth("additional").auth);
}

/**
 * Grants the user the smallest rights that can write additional-pull-secret. The right to create
 * Secrets cannot be limited to a name.
 */
async function mayDeclare(user: string): Promise<void> {
  const [apiVersion, name] = ["rbac.authorization.k8s.io/v1", "additional-pull-secret-writer"];
  const metadata = { name, namespace: names.namespace };
  const secrets = { apiGroups: [""], resources: ["secrets"] };
  const rules = [
    { ...secrets, verbs: ["create"] },
    { ...secrets, verbs: ["get", "update", "delete"], resourceNames: [names.additionalSecretName] },
  ];
  await cluster.apply(
    { apiVersion, kind: "Role", metadata, rules },
    {
      apiVersion,
      kind: "RoleBinding",
      metadata,
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: user }],
    },
  );
}

test("H7, H24: refuses an invalid Secret with an Event that names the key path, and deploys nothing", async () => {
  const event = await task.writeInvalid(cluster);
  assert.equal(event.type, "Warning");
  assert.doesNotMatch(event.message, /%%%/);
  await stays(
    "nothing is deployed",
    async () => (await product.ourObjects(cluster)).length === 0,
    3000,
  );
  assert.equal(task.files(cluster)[0], task.others);
  await product.deleteAdditional(cluster);
});

test("H1, H2, H4: runs a private image on every node for a user who can only write additional-pull-secret", async () => {
  const admin = "guest-admin";
  await mayDeclare(admin);
  await task.startPods(cluster, "app", image);
  await task.untilPods(cluster, "app", pullRefused);
  await task.createSecret(cluster, admin);
  await task.untilPods(cluster, "app", ["Running"]);
});

test("H13, H14: shows in three kubectl commands and in condition Ready that every node has the revision", async () => {
  assert.match(await product.rolledOut(cluster), /revision \d+ is on every node/);
  assertServed();
  const [daemonSet, secret, pods] = task.sights.map((command) => () => cluster.kubectl(...command));
  // The DaemonSet counts an agent as available after 30 s.
  await until("two agents are available", async () =>
    /\s2\s+2\s+2\s+2\s+2\s/.test((await daemonSet?.()) ?? ""),
  );
  assert.match((await secret?.()) ?? "", /kubernetes\.io\/dockerconfigjson\s+12\s/);
  // One line is the head of the table.
  assert.equal((await pods?.())?.trim().split("\n").length, 3);
  await product.untilEvent(cluster, "RolledOut", /2 nodes/);
});

test("H19: changes no revision, no file and no kubelet when the Secret has other bytes with the same meaning", async () => {
  const before = {
    revision: await product.revision(cluster),
    kubelets: await kubelets(cluster),
    file: nodes()[1]?.readFile("config.json"),
  };
  await product.writeAdditional(
    cluster,
    `\n${JSON.stringify(JSON.parse(cluster.registry.document("additional")), undefined, 3)}\n`,
  );
  await stays(
    "revision, file and kubelets are as before",
    async () => {
      assert.deepEqual(
        {
          revision: await product.revision(cluster),
          kubelets: await kubelets(cluster),
          file: nodes()[1]?.readFile("config.json"),
        },
        before,
      );
      return true;
    },
    5000,
  );
});

test("H16: delivers changed content to every node, and keeps the entries of other programs", async () => {
  const served = (await product.revision(cluster)) ?? 0;
  await task.rotate(cluster);
  await product.untilServed(cluster, served);
  assertServed();
  assert.ok("elsewhere.example" in auths(nodes()[0]));
});

test("keeps no copy of a mount in the agent's mount namespace when the node unmounts a volume", async () => {
  const [, node] = nodes();
  assert.ok(node);
  const place = "/var/lib/kubelet/of-another-pod";
  await node.exec(["sh", "-ec", `mkdir ${place}; mount -t tmpfs none ${place}`]);
  const { metadata } = await agentOn(cluster, node);
  await cluster.kubectl("delete", "pod", metadata.name, "-n", names.namespace);
  await product.untilServed(cluster);
  const search =
    "for one in $(grep -l '/app/agent[.]cjs' /proc/[0-9]*/cmdline); do cat ${one%cmdline}mountinfo; done";
  const mounts = () => node.exec(["sh", "-c", search]);
  await until("the new agent has the mount", async () => /of-another-pod/.test(await mounts()));
  await node.exec(["umount", place]);
  assert.doesNotMatch(await mounts(), /of-another-pod/);
  // The directory is removed last. Its removal would also remove a copy of the mount that is left
  // in the agent's mount namespace, and so hide the failure.
  await node.exec(["rmdir", place]);
});

test("H23: runs the agent without capabilities and with a read-only root file system, and its token reads one Secret", async () => {
  const [agent] = await processes("agent");
  assert.ok(agent);
  const status = await agent("status");
  for (const set of ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"])
    assert.match(status, new RegExp(`^${set}:\\s+0+$`, "m"));
  assert.match(status, /^NoNewPrivs:\s+1$/m);
  assert.match(status, /^Seccomp:\s+2$/m);
  const mounts = await agent("mounts");
  assert.match(mounts, /^\S+ \/ \S+ ro[, ]/m);
  const account = `system:serviceaccount:${names.namespace}:${names.agentName}`;
  const may = async (...verb: string[]) =>
    (await cluster.kubectl("auth", "can-i", ...verb, `--as=${account}`).catch(() => "no")).trim();
  const its = ["-n", names.namespace];
  assert.equal(await may("watch", `secrets/${names.globalSecretName}`, ...its), "yes");
  for (const verb of ["get", "list", "watch"]) {
    assert.equal(await may(verb, "secrets", ...its), "no");
    assert.equal(await may(verb, "pods", ...its), "no");
    assert.equal(await may(verb, `secrets/${names.additionalSecretName}`, ...its), "no");
  }
});

test("keeps the memory of agents and controllers out of core files", async () => {
  for (const role of ["agent", "controller"] as const) {
    const readers = await processes(role);
    assert.equal(readers.length, { agent: 2, controller: 2 }[role]);
    for (const read of readers) assert.match(await read("coredump_filter"), /^0+$/m);
  }
});

test("shows no credential in any log, Event, annotation, metric or termination message", async () => {
  await product.writeAdditional(cluster, withSecretInKey);
  await product.untilEvent(cluster, "Rejected", /registry\.corp/);
  await product.writeAdditional(cluster, cluster.registry.document("additional"));
  await assertNoLeak(cluster, firstUsers, cluster.registry.users);
});

test("H20, H21: removes every object and restores the nodes' files when the Secret is deleted", async (t) => {
  await cluster.kubectl("delete", "pods", "-n", "default", "--all");
  const begun = performance.now();
  await task.remove(cluster);
  t.diagnostic(`removed after ${Math.round((performance.now() - begun) / 100) / 10} s`);
  assert.deepEqual(task.files(cluster), [task.others, undefined]);
  assert.equal(
    (await nodes()[0]?.exec(["stat", "-c", "%a %u:%g", "/var/lib/kubelet/config.json"]))?.trim(),
    "640 0:0",
  );
  assert.equal(await task.traces(cluster), "");
  // A running kubelet uses the entries that it has read for five minutes more.
  for (const node of nodes()) await node.exec(["systemctl", "restart", "kubelet.service"]);
  await task.startPods(cluster, "again", await cluster.pushApp("team/app:2"));
  await task.untilPods(cluster, "again", ["ImagePullBackOff"]);
  await until(
    "an Event reports that the removal is over",
    async () => (await product.events(cluster, "Removed")).length > 0,
  );
});

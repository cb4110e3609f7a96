import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, suite, test } from "node:test";
import { until } from "./await.ts";
import { attachCluster, startCluster, type Cluster } from "./cluster.ts";
import { tracesOf } from "./host/traces.ts";
import { may } from "./rights.ts";

suite("a real cluster", () => {
  let cluster: Cluster;
  let image: string;
  before(async () => {
    cluster = await startCluster();
    image = await cluster.pushApp("team/app:1");
  });
  after(() => {
    cluster.down();
    assert.deepEqual(tracesOf(cluster.directory), [], "leaves nothing behind after down()");
  });

  const pod = (name: string, spec: object = {}): object => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: { containers: [{ name: "app", image }], terminationGracePeriodSeconds: 1, ...spec },
  });
  const phase = (name: string): Promise<string> =>
    cluster.kubectl("get", "pod", name, "-o", "jsonpath={.status.phase}");
  const running = (name: string): Promise<true> =>
    until(`pod ${name} runs`, async () => (await phase(name)) === "Running", {
      seen: () => cluster.kubectl("describe", "pod", name),
    });
  const invocation = async (): Promise<string> =>
    (await first().unit(["InvocationID"])).InvocationID;
  const first = () => cluster.nodes[0] ?? assert.fail("no node");
  const healthy = (): Promise<boolean> =>
    until(`the kubelet of ${first().name} is healthy`, async () => {
      return (
        (await first().exec(["busybox", "wget", "-qO-", "http://127.0.0.1:10248/healthz"])) === "ok"
      );
    });

  test("has two Ready nodes, and each runs a real systemd and a kubelet", async () => {
    const versions = "jsonpath={.items[*].status.nodeInfo.kubeletVersion}";
    assert.equal((await cluster.kubectl("get", "nodes", "-o", versions)).split(" ").length, 2);
    for (const node of cluster.nodes) {
      assert.equal((await node.exec(["hostname"])).trim(), node.name);
      const unit = await node.unit(["ActiveState", "MainPID", "InvocationID", "NRestarts"]);
      assert.equal(unit.ActiveState, "active");
      assert.match(unit.InvocationID, /^[0-9a-f]{32}$/);
      assert.match(await node.exec(["cat", `/proc/${unit.MainPID}/comm`]), /kubelet/);
    }
  });

  test("pulls a private image only with a credential, as the registry's log shows", async () => {
    const secret = {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "pull" },
      type: "kubernetes.io/dockerconfigjson",
    };
    await cluster.apply({
      ...secret,
      stringData: { ".dockerconfigjson": cluster.registry.document("additional") },
    });
    await cluster.apply(pod("without"), pod("with", { imagePullSecrets: [{ name: "pull" }] }));
    await running("with");
    await until("the pull without credential is refused", async () => {
      const reason = "jsonpath={.status.containerStatuses[0].state.waiting.reason}";
      return /ErrImagePull|ImagePullBackOff/.test(
        await cluster.kubectl("get", "pod", "without", "-o", reason),
      );
    });
    const users = cluster.registry
      .accesses()
      .filter(({ path }) => path === "/v2/team/app/manifests/1");
    assert.deepEqual(new Set(users.map(({ user }) => user)), new Set(["pusher", "additional"]));
  });

  test("accepts a credential in the node's own file once the kubelet has read it", async () => {
    first().writeFile("config.json", cluster.registry.document("original"));
    // Without a restart the kubelet would read the file only after up to five minutes.
    await first().exec(["systemctl", "restart", "kubelet"]);
    await cluster.apply(
      pod("own", {
        nodeName: first().name,
        containers: [{ name: "app", image: await cluster.pushApp("team/own:1") }],
      }),
    );
    await running("own");
    assert.ok(cluster.registry.accesses().some(({ user }) => user === "original"));
    first().writeFile("config.json", undefined);
    assert.equal(first().readFile("config.json"), undefined);
  });

  test("the registry refuses every pull of an account whose password was deleted", async () => {
    const { users } = cluster.registry;
    const answer = async (): Promise<number> => {
      const authorization = `Basic ${cluster.registry.auth("additional").auth}`;
      return (await fetch(`http://${cluster.registry.address}/v2/`, { headers: { authorization } }))
        .status;
    };
    const before = await answer();
    const authorization = `Basic ${cluster.registry.auth("additional").auth}`;
    await cluster.registry.setUsers({ ...users, additional: "another" });
    const old = await fetch(`http://${cluster.registry.address}/v2/`, {
      headers: { authorization },
    });
    const changed = await answer();
    await cluster.registry.setUsers(users);
    assert.deepEqual([before, old.status, changed, await answer()], [200, 401, 200, 200]);
  });

  test("reaches a pod by kubectl logs and exec, and the API server's ClusterIP from a pod", async () => {
    await running("with");
    assert.equal(await cluster.kubectl("logs", "with"), "hello\n");
    assert.equal(
      (await cluster.kubectl("exec", "with", "--", "cat", "/etc/hostname")).trim(),
      "with",
    );
    const node = await cluster.registry.push(cluster.kit.images.base, "node:1", "public.example");
    const mount = "/var/run/secrets/kubernetes.io/serviceaccount";
    const script = `
      const token = require("node:fs").readFileSync("${mount}/token", "utf8");
      const url = "https://" + process.env.KUBERNETES_SERVICE_HOST + "/api/v1/nodes";
      fetch(url, { headers: { authorization: "Bearer " + token } }).then(async (answer) => console.log(await answer.text()));`;
    const env = [{ name: "NODE_EXTRA_CA_CERTS", value: `${mount}/ca.crt` }];
    const containers = [{ name: "client", image: node, args: ["-e", script], env }];
    await cluster.apply(pod("client", { containers, restartPolicy: "Never" }));
    await until("the client is done", async () => (await phase("client")) === "Succeeded", {
      seen: () => phase("client"),
    });
    assert.match(
      await cluster.kubectl("logs", "client"),
      /User \\"system:serviceaccount:default:default\\" cannot list/,
    );
  });

  test("may() fails when a test asks for rights on a misspelt resource", async () => {
    const group = "rbac.authorization.k8s.io";
    assert.equal(await may(cluster, "somebody", "get", "pods:exec", "default"), false);
    assert.equal(await may(cluster, "somebody", "bind", `clusterroles.${group}/admin`), false);
    for (const what of ["pod", "pods:exce", "clusterroles", `clusterrole.${group}`, "pods.none"])
      await assert.rejects(may(cluster, "somebody", "get", what), /serves no such resource/, what);
  });

  test("shows the user and the object of each request in the audit log", async () => {
    const lines = readFileSync(cluster.auditLog, "utf8").trim().split("\n");
    const users = new Set(
      lines.map((line) => (JSON.parse(line) as { user: { username: string } }).user.username),
    );
    for (const user of ["admin", "system:node:node1", "system:node:node2", "system:kube-scheduler"])
      assert.ok(users.has(user));
  });

  test("breakKubelet lets the kubelet's next start fail, and healKubelet starts the kubelet again", async () => {
    const old = await invocation();
    await first().breakKubelet();
    assert.equal(await invocation(), old);
    await assert.rejects(first().exec(["systemctl", "restart", "kubelet"]));
    await first().healKubelet();
    await healthy();
    assert.notEqual(await invocation(), old);
  });

  test("boots a dead node again with its pods and its old journal", async () => {
    await running("own");
    const old = await invocation();
    first().stop();
    await assert.rejects(first().exec(["true"]), /not running/);
    await first().start();
    await healthy();
    assert.notEqual(await invocation(), old);
    const boots = (await first().journal("prepare.service")).match(/Finished prepare\.service/g);
    assert.equal(boots?.length, 2);
    await until("the pod was started again", async () => {
      const restarts = "jsonpath={.status.containerStatuses[0].restartCount}";
      return Number(await cluster.kubectl("get", "pod", "own", "-o", restarts)) > 0;
    });
  });

  test("adds a node, also from another process that attaches to the cluster", async () => {
    const attached = await attachCluster(cluster.name);
    const node = await attached.addNode();
    assert.equal(node.name, "node3");
    await cluster.apply(pod("third", { nodeName: "node3", imagePullSecrets: [{ name: "pull" }] }));
    await running("third");
  });
});

/**
 * Checks that the steps of a rollout occur on a real node in the order of the picture in the
 * requirements.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import * as names from "#contract/names.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import { auditOf } from "../cluster/audit.ts";
import { controllerAccount as controller } from "./audit.ts";
import { agentLog } from "./nodes.ts";
import * as product from "./product.ts";

let cluster: Cluster;

before(async () => {
  cluster = await startCluster({ nodes: 1 });
  await product.installProduct(cluster);
});
after(() => cluster?.down());

/** Microseconds since the epoch, from an ISO 8601 time with up to six digits after the point. */
function micros(time: string): number {
  const [, seconds = "", fraction = ""] =
    /^([^.]*)\.?(\d*)/.exec(time.replace(/(Z|\+00:?00)$/, "").replace(" ", "T")) ?? [];
  return Date.parse(`${seconds}Z`) * 1000 + Number(fraction.padEnd(6, "0").slice(0, 6));
}

type Step = readonly [what: string, micros: number];

test("HD, H5, H10, H11, H12: creates the objects, writes the file and restarts the kubelet in the order of the requirements' picture", async () => {
  await product.writeAdditional(cluster, cluster.registry.document("additional"));
  await product.untilServed(cluster);
  const [node] = cluster.nodes;
  assert.ok(node);

  const audit = auditOf(cluster);
  const first = (
    what: string,
    user: string,
    verb: string,
    resource: string,
    name: string,
    code: number,
  ): Step => {
    const request = audit.find(
      (candidate) =>
        candidate.user === user &&
        candidate.verb === verb &&
        candidate.resource === resource &&
        candidate.name.startsWith(name) &&
        candidate.code === code,
    );
    assert.ok(request, `the audit log shows that ${what}`);
    return [what, micros(request.at)];
  };
  const stepOfCreation = (what: string, resource: string, name: string): Step =>
    first(what, controller, "patch", resource, name, 201);

  const log = (await agentLog(cluster, node))
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { time: string; action: string });
  const logged = (what: string, action: string): Step => {
    const line = log.find((entry) => entry.action === action);
    assert.ok(line, `the agent's log shows that ${what}`);
    return [what, micros(line.time)];
  };

  const changed = await node.exec(["stat", "-c", "%.6Z", "/var/lib/kubelet/config.json"]);
  const stopping =
    (await node.journal()).split("\n").findLast((line) => /systemd\[1\]: Stopping /.test(line)) ??
    "";
  const started = await node.exec([
    "systemctl",
    "show",
    "kubelet",
    "--property=ExecMainStartTimestamp",
    "--timestamp=us+utc",
  ]);
  const [, day = "", time = ""] = /(\d{4}-\d\d-\d\d) ([\d:.]+) UTC/.exec(started) ?? [];

  const daemonSet = stepOfCreation("the DaemonSet", "daemonsets", names.agentName);
  const steps: readonly Step[] = [
    first(
      "an administrator creates the Secret",
      "admin",
      "create",
      "secrets",
      names.additionalSecretName,
      201,
    ),
    // The controller receives the Secret through its watch, so no request shows the time of this
    // step.
    stepOfCreation(
      "the controller has seen it, and creates global-pull-secret",
      "secrets",
      names.globalSecretName,
    ),
    stepOfCreation("the ServiceAccount", "serviceaccounts", names.agentName),
    stepOfCreation("the Role", "roles", names.agentName),
    stepOfCreation("the RoleBinding", "rolebindings", names.agentName),
    daemonSet,
    first(
      "the agent's pod is created",
      "system:serviceaccount:kube-system:daemon-set-controller",
      "create",
      "pods",
      "",
      201,
    ),
    logged("the agent has read its revision and is about to write", "commit"),
    ["config.json is in place", Math.round(Number(changed) * 1e6)],
    logged("the agent calls systemd over D-Bus", "restart"),
    ["systemd stops the kubelet", micros(stopping.split(" ")[0] ?? "")],
    ["the new kubelet is started", micros(`${day}T${time}`)],
  ];
  const shown = steps
    .map(([what, at]) => `${new Date(at / 1000).toISOString()} ${what}`)
    .join("\n");
  for (const [index, [, at]] of steps.entries()) {
    assert.ok(Number.isFinite(at), shown);
    assert.ok(index === 0 || (steps[index - 1]?.[1] ?? 0) <= at, `out of order:\n${shown}`);
  }
  const [, reported] = first(
    "the controller reports the result",
    controller,
    "create",
    "events",
    names.additionalSecretName,
    201,
  );
  assert.ok(daemonSet[1] <= reported, "the nodes come first, then the report");
});

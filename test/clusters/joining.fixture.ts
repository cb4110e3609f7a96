/** Joining: rights, tokens and conditions, and how a FleetSecret uses them. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { load } from "js-yaml";
import { type V1Secret } from "@kubernetes/client-node";
import { connect } from "#kube/client/client.ts";
import { timesIn } from "#kube/token.ts";
import { loadKubeConfig } from "#kube/load.ts";
import type { ClusterProfile } from "#api/cluster-profile.ts";
import { clustersNamespace } from "#contract/joined.ts";
import { auditOf } from "../cluster/audit.ts";
import { until } from "../cluster/await.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { directEnvironment, run } from "../cluster/run.ts";
import { document, pullSecret } from "../controller/plane.ts";
import { TcpProxy } from "../controller/tcp-proxy.ts";
import * as fleet from "../fleet/fleet.ts";
import {
  guardsIn,
  joinedIn,
  profileIn,
  setTokenTimes,
  tokenIn,
  untilCondition,
  type Person,
  type Rig,
} from "./clusters.ts";
import { buildReader } from "./inventory.ts";
import { assertAmong, assertShown } from "./page.ts";

type Answer = Readonly<Record<"token", string>>;

/** Runs the inventory's reader for a profile's first access provider, and returns its output. */
async function readerOutput(
  profile: ClusterProfile | undefined,
  person: Person,
): Promise<Partial<Answer>> {
  const reader = await buildReader();
  const provider = profile?.status?.accessProviders?.[0];
  assert.equal(provider?.name, "secretreader");
  const extensions = provider.cluster?.["extensions"] as { extension: object }[];
  const info = {
    apiVersion: "client.authentication.k8s.io/v1",
    kind: "ExecCredential",
    spec: {
      interactive: false,
      cluster: { ...provider.cluster, config: extensions[0]?.extension },
    },
  };
  const config = load(readFileSync(person.kubeconfig, "utf8")) as {
    contexts: { name: string; context: object }[];
  };
  const contexts = config.contexts.map(({ name: one, context }) => ({
    name: one,
    context: { ...context, namespace: clustersNamespace },
  }));
  const file = join(person.folder, "reader.kubeconfig");
  writeFileSync(file, JSON.stringify({ ...config, contexts }), { mode: 0o600 });
  const env = directEnvironment({
    KUBECONFIG: file,
    KUBERNETES_EXEC_INFO: JSON.stringify(info),
  });
  return (JSON.parse(await run([reader], { env })) as { status: Partial<Answer> }).status;
}

export function joining(on: () => Rig): void {
  test("leaves nothing in host and cluster when one of the two refuses the join's requests", async () => {
    const account = ["serviceaccount", "outsider", "-n", "default"];
    for (const cluster of [on().home.cluster, on().east])
      await cluster.kubectl("create", ...account);
    const token = async (cluster: Cluster) =>
      (await cluster.kubectl("create", "token", "outsider", "-n", "default")).trim();
    const config = load(readFileSync(on().person.kubeconfig, "utf8")) as {
      users: object[];
      contexts: object[];
    };
    config.users.push(
      { name: "outsider-here", user: { token: await token(on().home.cluster) } },
      { name: "outsider-there", user: { token: await token(on().east) } },
    );
    config.contexts.push(
      { name: "outsider-here", context: { cluster: "host", user: "outsider-here" } },
      { name: "outsider-there", context: { cluster: "admin@east", user: "outsider-there" } },
    );
    writeFileSync(on().person.kubeconfig, JSON.stringify(config));
    await on().person.kubectl("config use-context outsider-here");
    await on().person.refused("fleet join east --context admin@east", /403/);
    await on().person.kubectl("config use-context host");
    await on().person.refused("fleet join east --context outsider-there", /403 Forbidden/);
    // At first this user is only allowed to read in the cluster east. Then the user is also allowed
    // to write the objects of a join. But the user cannot grant rights that the user does not have,
    // so the join fails half way.
    const grant = ["clusterrolebinding", "outsider", "--serviceaccount=default:outsider"];
    await on().east.kubectl("create", ...grant, "--clusterrole=view");
    const half = "fleet join east --context outsider-there";
    await on().person.refused(half, /403 .*; nothing of the join is left$/m);
    const rights = [
      "--verb=*",
      "--resource=serviceaccounts,secrets,roles.rbac.authorization.k8s.io," +
        "validatingadmissionpolicies.admissionregistration.k8s.io," +
        "validatingadmissionpolicybindings.admissionregistration.k8s.io",
    ];
    await on().east.kubectl("create", "clusterrole", "half", ...rights);
    const more = ["clusterrolebinding", "half", "--serviceaccount=default:outsider"];
    await on().east.kubectl("create", ...more, "--clusterrole=half");
    await on().person.refused(half, /403 .*; nothing of the join is left$/m);
    assert.equal(await joinedIn(on().east), false);
    assert.deepEqual(await guardsIn(on().east), []);
    assert.equal(await profileIn(on().home.cluster, "east"), undefined);
    assert.equal(await tokenIn(on().home.cluster, "east"), undefined);
  });

  test("M1, M2: joins each cluster with one command, also the host itself, and reports every condition as True", async () => {
    await on().person.ok("fleet join east --context admin@east");
    await on().person.ok("fleet join west --context west");
    const joined = await on().person.ok("fleet join here --context host");
    assertAmong("extend/clusters.md", "kubectl pull-secret fleet join here --context host", joined);
    for (const name of ["east", "west", "here"])
      for (const type of ["Joined", "ControlPlaneHealthy", "AccountGuarded"])
        await untilCondition(on().home.cluster, name, [type, "True"]);
    const shown = await on().person.ok("fleet list");
    for (const name of ["east", "west", "here"])
      assert.match(shown, new RegExp(`^ *${name} +True +True +True +v1\\.\\d+\\.\\d+`, "m"));
    assertShown("extend/clusters.md", "kubectl pull-secret fleet list", shown);
    // From here on, the test fails if an output contains a token.
    for (const name of ["east", "west"]) {
      const token = Buffer.from(
        (await tokenIn(on().home.cluster, name))?.data?.["token"] ?? "",
        "base64",
      );
      assert.ok(token.length > 100);
      assert.ok(!`${shown}${on().controller.output()}`.includes(token.toString()));
      on().person.plant(token.toString());
    }
  });

  test("stores the token in the place where the inventory's own secret reader finds it", async () => {
    const profile = await profileIn(on().home.cluster, "east");
    const answer = await readerOutput(profile, on().person);
    const token = (await tokenIn(on().home.cluster, "east"))?.data?.["token"] ?? "";
    assert.equal(answer.token, Buffer.from(token, "base64").toString());
  });

  test("delivers a FleetSecret only to the selected joined clusters, with the rights of a join", async () => {
    const since = new Date().toISOString();
    await on().home.cluster.kubectl(
      "label",
      "clusterprofile",
      "east",
      "-n",
      clustersNamespace,
      "tier=prod",
    );
    const source = pullSecret("source-pull-secret", document({ "quay.io": "robot:1" }));
    await on().home.cluster.apply(source);
    const clusterProfiles = {
      namespaces: [clustersNamespace],
      selector: { matchLabels: { tier: "prod" } },
      clusterManagers: ["globalpullsecret.io"],
    };
    const { clusterAPI: _, ...spec } = fleet.fleetSecret().spec;
    await on().home.cluster.apply({ ...fleet.fleetSecret(), spec: { ...spec, clusterProfiles } });
    const name = `${clustersNamespace}/east`;
    await fleet.untilState(on().home, name, "Done");
    const placed = async (cluster: Cluster) =>
      await cluster.get<V1Secret>("secret", "pull-secret", "-n", "kube-system");
    assert.deepEqual((await placed(on().east))?.data, (source as V1Secret).data);
    assert.equal(await placed(on().west), undefined);
    await on().home.cluster.kubectl(
      "label",
      "clusterprofile",
      "west",
      "-n",
      clustersNamespace,
      "tier=prod",
    );
    await fleet.untilState(on().home, `${clustersNamespace}/west`, "Done");
    const account = "system:serviceaccount:kube-system:global-pull-secret-joined";
    const asked = auditOf(on().east, { since }).filter(({ user }) => user === account);
    assert.ok(asked.length > 0);
    assert.deepEqual(
      asked.filter(({ code }) => code === 403),
      [],
    );
  });

  test("grants the account of a join exactly the rights that FleetSecrets need in the cluster", async () => {
    const config = loadKubeConfig(on().east.kubeconfig);
    const east = connect(config, () => {});
    const user = "system:serviceaccount:kube-system:global-pull-secret-joined";
    const groups = ["system:authenticated", "system:serviceaccounts"];
    const can = async (verb: string, resource: string, name = "", group = "") => {
      const [kind, subresource = ""] = resource.split("/");
      const asked = { verb, group, resource: kind, subresource, name, namespace: "kube-system" };
      const review = await east.create<{ status: { allowed: boolean } }>(
        "/apis/authorization.k8s.io/v1/subjectaccessreviews",
        {
          apiVersion: "authorization.k8s.io/v1",
          kind: "SubjectAccessReview",
          spec: { user, groups, resourceAttributes: asked },
        },
      );
      return review.status.allowed;
    };
    const rbac = "rbac.authorization.k8s.io";
    const own = "global-pull-secret-joined";
    assert.equal(await can("create", "serviceaccounts/token", own), true);
    for (const verb of ["get", "list", "watch", "create", "patch", "delete"]) {
      assert.equal(await can(verb, "secrets", "pull-secret"), true, verb);
      for (const name of ["", "additional-pull-secret", `${own}-token`])
        assert.equal(await can(verb, "secrets", name), false, `${verb} ${name}`);
      for (const [resource, group] of [["pods"], ["serviceaccounts"], ["roles", rbac]] as const)
        assert.equal(await can(verb, resource, "", group), false, `${verb} ${resource}`);
      assert.equal(await can(verb, "roles", own, rbac), false, verb);
    }
    assert.equal(await can("create", "serviceaccounts/token", "default"), false);
  });

  test("reports policies of a join that were deleted or match nothing, until the cluster is joined again", async () => {
    const { person, home, east } = on();
    const binding = ["validatingadmissionpolicybinding", "global-pull-secret-joined-tokens"];
    await east.kubectl("delete", ...binding);
    const selector = { namespaceSelector: { matchLabels: { never: "matches" } } };
    const changed = [
      ["validatingadmissionpolicybinding", { matchResources: selector }],
      ["validatingadmissionpolicy", { matchConstraints: selector }],
    ] as const;
    for (const [kind, spec] of changed) {
      const patch = ["--type=merge", "-p", JSON.stringify({ spec })];
      await east.kubectl("patch", kind, "global-pull-secret-joined-secrets", ...patch);
    }
    // After any change of a profile, the controller observes the cluster again. But only every
    // tenth observation reads policies that were in place.
    const its = ["clusterprofile", "east", "-n", clustersNamespace];
    let looks = 0;
    await until("the controller has read the policies again", async () => {
      await home.cluster.kubectl("label", "--overwrite", ...its, `look=policies-${looks++}`);
      const { conditions = [] } = (await profileIn(home.cluster, "east"))?.status ?? {};
      return conditions.some(({ type, status }) => type === "AccountGuarded" && status === "False");
    });
    const command = /join it again: kubectl pull-secret fleet join east --context admin@east$/;
    await untilCondition(home.cluster, "east", ["AccountGuarded", "False"], command);
    const listed = await person.ok("fleet list");
    assert.match(listed, /^ *east +True +True +False .*kubectl pull-secret fleet join east/m);
    await person.ok("fleet join east --context admin@east");
    await untilCondition(home.cluster, "east", ["AccountGuarded", "True"]);
    assert.ok(await east.get(...(binding as [string, string])));
  });

  test("refuses a name of another joined cluster, and a cluster that is already joined under another name", async () => {
    await on().person.refused(
      "fleet join east --context west",
      /^east: is the name of a different cluster/,
    );
    await on().person.refused(
      "fleet join other --context west",
      /^other: this cluster is joined already, as west/,
    );
    const { code, err } = await on().person.plugin("fleet join ../east --context west");
    assert.deepEqual([code, /is not a valid cluster name/.test(err)], [2, true]);
  });

  test("renews a token after half its lifetime, without a command", async () => {
    const former = await tokenIn(on().home.cluster, "west");
    const hour = 3_600_000;
    const now = Math.floor(Date.now() / 1000) * 1000;
    await setTokenTimes(on().home.cluster, ["west", on().west], {
      issued: now - 2 * hour,
      expires: now + hour,
    });
    const aged = await tokenIn(on().home.cluster, "west");
    const its = ["-n", clustersNamespace];
    // After any change of a profile, the controller observes the cluster again.
    await on().home.cluster.kubectl("label", "clusterprofile", "west", ...its, "look=now");
    await until("the token is renewed", async () => {
      const secret = await tokenIn(on().home.cluster, "west");
      return secret?.data?.["token"] !== aged?.data?.["token"];
    });
    const renewed = await tokenIn(on().home.cluster, "west");
    const token = Buffer.from(renewed?.data?.["token"] ?? "", "base64").toString();
    const days = (timesIn(token).expires - now) / (24 * hour);
    assert.ok(days > 29 && days < 30.1, `${days} days`);
    await untilCondition(on().home.cluster, "west", ["Joined", "True"]);
    for (const stored of [former, aged, renewed].map((secret) => secret?.data?.["token"] ?? "")) {
      assert.ok(stored.length > 100);
      for (const form of [stored, Buffer.from(stored, "base64").toString()])
        assert.ok(!on().controller.output().includes(form), "the controller logs a token");
    }
  });

  test("reports a token as void after the token's Secret was deleted, and shows the command that joins again", async () => {
    const bound = ["secret", "global-pull-secret-joined-token", "-n", "kube-system"];
    await on().east.kubectl("delete", ...bound);
    // The API server still accepts the token for 10 s. After each change of a profile, the
    // controller observes the cluster again.
    const its = ["clusterprofile", "east", "-n", clustersNamespace];
    await until(
      "the token is void",
      async () => {
        await on().home.cluster.kubectl("label", ...its, "--overwrite", `look=${Date.now()}`);
        const { conditions } = (await profileIn(on().home.cluster, "east"))?.status ?? {};
        return conditions?.find(({ type }) => type === "Joined")?.status === "False";
      },
      { every: 1000 },
    );
    const command = /join it again: kubectl pull-secret fleet join east --context admin@east$/;
    await untilCondition(on().home.cluster, "east", ["Joined", "False"], command);
    const { out } = await on().person.plugin("fleet list");
    assert.match(out, /^ *east +False .*kubectl pull-secret fleet join east/m);
    // Only the user on this machine can use this context, because the context's server is a tunnel
    // on this machine.
    await using tunnel = await TcpProxy.before(on().east.server);
    const config = load(readFileSync(on().person.kubeconfig, "utf8")) as {
      clusters: { name: string; cluster: object }[];
      contexts: { name: string; context: object }[];
    };
    const { cluster } = config.clusters.find(({ name }) => name === "admin@east") ?? {};
    const server = `https://127.0.0.1:${tunnel.port}`;
    config.clusters.push({ name: "tunnel", cluster: { ...cluster, server } });
    config.contexts.push({ name: "tunnel", context: { cluster: "tunnel", user: "admin@east" } });
    writeFileSync(on().person.kubeconfig, JSON.stringify(config));
    const rejoin = "fleet join east --context tunnel";
    const { code, err } = await on().person.plugin(rejoin);
    assert.deepEqual([code, /^GPS419 --context tunnel: .*give --server/.test(err)], [2, true], err);
    assert.equal(tunnel.tried, 0, "no request was sent before");
    const name = "kubernetes.default.svc";
    await on().person.ok(`${rejoin} --server ${on().east.server} --tls-server-name ${name}`);
    await untilCondition(on().home.cluster, "east", ["Joined", "True"]);
    const profile = await profileIn(on().home.cluster, "east");
    const [access] = profile?.status?.accessProviders ?? [];
    const { server: recorded, "tls-server-name": recordedName } = access?.cluster ?? {};
    assert.deepEqual([recorded, recordedName], [on().east.server, name]);
    await on().person.ok("fleet join east --context admin@east");
    await untilCondition(on().home.cluster, "east", ["Joined", "True"]);
  });
}

/** A SyncSecret's life, from its first copy to its end. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { match } from "#pullsecret/kubelet/match.ts";
import { readAsKubelet } from "#pullsecret/kubelet/kubelet.ts";
import { auditOf, isWrite, type AuditedRequest } from "../cluster/audit.ts";
import { stays, until } from "../cluster/await.ts";
import { document } from "../controller/plane.ts";
import type { Rig } from "./rig.ts";
import * as sync from "./sync.ts";
import { base64, syncSecret, untilReason, untilSecret } from "./sync.ts";

const types: readonly (readonly [type: string, data: Readonly<Record<string, string>>])[] = [
  ["Opaque", { token: "x" }],
  ["kubernetes.io/tls", { "tls.crt": "certificate", "tls.key": "key" }],
  ["kubernetes.io/dockerconfigjson", { ".dockerconfigjson": document({ "quay.io": "a:b" }) }],
  ["kubernetes.io/basic-auth", { username: "u", password: "p" }],
  ["kubernetes.io/ssh-auth", { "ssh-privatekey": "k" }],
  ["kubernetes.io/service-account-token", { token: "jwt", namespace: "default" }],
];

const login = `{
  "auths": {
    "registry.example.com": {
      "username": "robot",
      "password": "planted-5",
      "email": "robot@example.com",
      "auth": "${base64("robot:planted-5")}"
    }
  }
}
`;

export function lifeTests(rig: () => Rig): void {
  test("L1, L5, L8: makes the Secret of a SyncSecret in the tenant's namespace of the management cluster, and copies no other Secret", async () => {
    const { management, tenant, start, output } = rig();
    start();
    await tenant.cluster.kubectl(
      "create",
      "secret",
      "generic",
      "private",
      "--from-literal=a=planted",
    );
    await tenant.cluster.apply(syncSecret("wrapped", { stringData: { a: "1" } }));
    const secret = await untilSecret(tenant, management, "wrapped", { data: { a: base64("1") } });
    assert.equal(secret.metadata?.namespace, "tenant-a");
    const all = await management.cluster.kubectl("get", "secrets,syncsecrets", "-A", "-o", "json");
    assert.ok(!all.includes(base64("planted")) && !all.includes("private"));
    assert.ok(!output().includes("planted"));
  });

  test("L12, L13: copies data, stringData and type for all six types, but makes the Secret of a service account's token Opaque", async () => {
    const { management, tenant, start } = rig();
    start();
    const nameOf = (type: string) => type.split("/").at(-1)?.toLowerCase() ?? "";
    const encoded = (data: Readonly<Record<string, string>>) =>
      Object.fromEntries(Object.entries(data).map(([key, value]) => [key, base64(value)]));
    const declared = types.map(([type, data]) => {
      const [first = "", ...others] = Object.keys(data).toSorted();
      const rest = Object.fromEntries(others.map((key) => [key, data[key] ?? ""]));
      // Puts one key into data and the others into stringData. The Secret has all keys in data.
      const [data1, stringData] = [encoded({ [first]: data[first] ?? "" }), rest];
      return syncSecret(nameOf(type), { type, data: data1, stringData });
    });
    await tenant.cluster.apply(...declared);
    for (const [type, data] of types) {
      const isToken = type.endsWith("token");
      const expected = { data: encoded(data), type: isToken ? "Opaque" : type };
      const secret = await untilSecret(tenant, management, nameOf(type), expected);
      const { annotations = {} } = secret.metadata ?? {};
      assert.equal(annotations["globalpullsecret.io/original-type"], isToken ? type : undefined);
      assert.ok(Object.keys(annotations).every((name) => !name.includes("kubernetes.io/")));
    }
  });

  test("L15: copies a pull secret with username, password, email and auth byte for byte, so that a kubelet finds the login", async () => {
    const { management, tenant, start, output } = rig();
    start();
    const type = "kubernetes.io/dockerconfigjson";
    const declared = { type, stringData: { ".dockerconfigjson": login } } as const;
    await tenant.cluster.apply(syncSecret("login", declared));
    const expected = { type, data: { ".dockerconfigjson": base64(login) } };
    const secret = await untilSecret(tenant, management, "login", expected);
    const bytes = Buffer.from(secret.data?.[".dockerconfigjson"] ?? "", "base64");
    const read = readAsKubelet(bytes);
    assert.ok(read.ok);
    const [[entry] = []] = match(read.entries, "registry.example.com/shop/app").tries;
    assert.equal(entry?.username.toString(), "robot");
    assert.equal(entry?.password.toString(), "planted-5");
    assert.ok(!output().includes("planted-5"));
  });

  test("L12: copies an empty value. The tenant's API server refuses a value that is not base64", async () => {
    const { management, tenant, start } = rig();
    start();
    await tenant.cluster.apply(syncSecret("empty", { data: { a: "" }, stringData: { b: "" } }));
    await untilSecret(tenant, management, "empty", { data: { a: "", b: "" } });
    for (const odd of ["a", "eA=", "e===", "=", "eA==eA==", "e A="])
      await assert.rejects(
        tenant.cluster.apply(syncSecret("odd", { data: { a: odd } })),
        /data\.a/,
        odd,
      );
  });

  test("L4, L6, L9, L23: names copy and Secret by UIDs, makes the copy the Secret's owner, and copies only name and namespace of a tenant's metadata", async () => {
    const { management, tenant, start } = rig();
    start();
    const name = `${"n".repeat(60)}.${"m".repeat(60)}`;
    const metadata = {
      name,
      namespace: "default",
      labels: { "planted-label": "x" },
      annotations: { "kubernetes.io/service-account.name": "default", "planted-annotation": "y" },
      finalizers: ["planted.example/finalizer"],
    };
    await tenant.cluster.apply({ ...syncSecret(name, { data: { a: "eA==" } }), metadata });
    const object = await untilReason(tenant, name, "Synced");
    const copy = await sync.copyOf(management, object);
    const secret = await untilSecret(tenant, management, name, { data: { a: "eA==" } });
    assert.equal(copy?.metadata.name, object.metadata.uid);
    assert.equal(secret.metadata?.name, copy?.metadata.uid);
    assert.notEqual(copy?.metadata.uid, object.metadata.uid);
    const { ownerReferences = [] } = secret.metadata ?? {};
    assert.deepEqual(ownerReferences, [
      {
        apiVersion: "globalpullsecret.io/v1alpha1",
        kind: "SyncSecret",
        name: copy?.metadata.name,
        uid: copy?.metadata.uid,
        blockOwnerDeletion: true,
      },
    ]);
    const digest = createHash("sha256").update(name).digest("hex").slice(0, 8);
    for (const metadata of [copy?.metadata, secret.metadata]) {
      assert.deepEqual(metadata?.labels, {
        "app.kubernetes.io/managed-by": "global-pull-secret-sync",
        "globalpullsecret.io/origin-name": `${name.slice(0, 54)}-${digest}`,
        "globalpullsecret.io/origin-namespace": "default",
      });
      assert.partialDeepStrictEqual(metadata?.annotations, {
        "globalpullsecret.io/origin-name": name,
        "globalpullsecret.io/origin-namespace": "default",
      });
      assert.equal(metadata?.annotations?.["planted-annotation"], undefined);
    }
    const selector = `globalpullsecret.io/origin-namespace=default`;
    const secretNames = await management.cluster.kubectl(
      "get",
      "secret",
      "-A",
      "-o",
      "name",
      "-l",
      selector,
    );
    assert.equal(secretNames.trim(), `secret/${secret.metadata?.name}`);
    // Removes the test's own finalizer, so that the product can finish the deletion.
    const its = ["syncsecret", name, "--type=json", "-p"];
    const at = object.metadata.finalizers?.indexOf("planted.example/finalizer") ?? 0;
    const op = [{ op: "remove", path: `/metadata/finalizers/${at}` }];
    await tenant.cluster.kubectl("patch", ...its, JSON.stringify(op));
  });

  test("L10, L26: delivers a change, and writes nothing for unchanged content", async () => {
    const { management, tenant, start } = rig();
    start();
    await tenant.cluster.apply(syncSecret("one", { stringData: { a: "1" } }));
    await untilSecret(tenant, management, "one", { data: { a: base64("1") } });
    await tenant.cluster.apply(syncSecret("one", { stringData: { a: "2" }, data: { b: "eA==" } }));
    const expected = { data: { a: base64("2"), b: "eA==" } };
    const before = await untilSecret(tenant, management, "one", expected);
    await untilReason(tenant, "one", "Synced");
    const since = new Date().toISOString();
    // Moves a key from stringData to data, which changes no content.
    const words = JSON.stringify({ stringData: null, data: { a: base64("2"), b: "eA==" } });
    await tenant.cluster.kubectl("patch", "syncsecret", "one", "--type=merge", "-p", words);
    const object = await untilReason(tenant, "one", "Synced");
    assert.equal(object.status?.observedGeneration, object.metadata.generation);
    const ours = ({ userAgent, resource }: AuditedRequest) =>
      userAgent === "global-pull-secret-sync" && resource !== "leases";
    const asked = (from: string) =>
      [management, tenant].flatMap(({ cluster }) =>
        auditOf(cluster, { since: from })
          .filter(ours)
          .filter(({ verb }) => verb !== "watch"),
      );
    // A write of status is a change too, after which the program reads once more.
    await until(
      "the programs are at rest",
      () => asked(new Date(Date.now() - 5000).toISOString()).length === 0,
    );
    const rest = new Date().toISOString();
    for (const { cluster } of [management, tenant]) assert.ok(auditOf(cluster).some(ours));
    // 12 s, because the program reads waiting objects again after ten seconds.
    await stays("no request is made", () => asked(rest).length === 0, 12_000);
    assert.deepEqual(auditOf(management.cluster, { since }).filter(ours).filter(isWrite), []);
    const after = await sync.secretIn(management, before.metadata?.name ?? "");
    assert.equal(after?.metadata?.resourceVersion, before.metadata?.resourceVersion);
  });

  test("L14: makes the Secret of an immutable object immutable; both API servers refuse a change of this object, and of any object's type", async () => {
    const { management, tenant, start } = rig();
    start();
    const first = { stringData: { a: "1" }, immutable: true };
    await tenant.cluster.apply(syncSecret("fixed", first), syncSecret("typed", {}));
    const secret = await untilSecret(tenant, management, "fixed", { data: { a: base64("1") } });
    assert.equal(secret.immutable, true);
    for (const declared of [
      { ...first, stringData: { a: "2" } },
      { stringData: first.stringData },
      { ...first, immutable: false },
      { ...first, data: { b: "eA==" } },
    ])
      await assert.rejects(
        tenant.cluster.apply(syncSecret("fixed", declared)),
        /immutable; delete/,
      );
    const typed = syncSecret("typed", { type: "kubernetes.io/tls" });
    await assert.rejects(tenant.cluster.apply(typed), /type is immutable/);
    const patch = ["--type=merge", "-p", JSON.stringify({ data: { a: "eA==" } })];
    const copy = await sync.copyOf(management, await untilReason(tenant, "fixed", "Synced"));
    for (const its of [
      ["syncsecret", copy?.metadata.name ?? ""],
      ["secret", secret.metadata?.name ?? ""],
    ])
      await assert.rejects(
        management.cluster.kubectl("patch", ...its, "-n", "tenant-a", ...patch),
        /immutable/,
      );
  });

  test("L7, L11, L18, L19: after a user has deleted the tenant's object, removes first the Secret, then the copy, and last this object", async () => {
    const { management, tenant, start } = rig();
    start();
    await tenant.cluster.apply(syncSecret("gone", { stringData: { a: "1" } }));
    const secret = await untilSecret(tenant, management, "gone", { data: { a: base64("1") } });
    const object = await untilReason(tenant, "gone", "Synced");
    const name = secret.metadata?.name ?? "";
    // Another client's finalizer keeps the Secret, therefore the copy and the tenant's object wait.
    const hold = (finalizers: readonly string[]) =>
      management.cluster.kubectl(
        "patch",
        `secret/${name}`,
        "--namespace=tenant-a",
        "--type=merge",
        "-p",
        JSON.stringify({ metadata: { finalizers } }),
      );
    await hold(["example.com/hold"]);
    await tenant.cluster.kubectl("delete", "syncsecret", "gone", "--wait=false");
    await untilReason(tenant, "gone", "Leaving");
    await until("the Secret is leaving", async () => {
      return (await sync.secretIn(management, name))?.metadata?.deletionTimestamp !== undefined;
    });
    await stays(
      "both objects wait for the Secret",
      async () =>
        (await sync.copyOf(management, object)) !== undefined &&
        (await sync.objectIn(tenant, "gone")) !== undefined,
      2000,
    );
    await hold([]);
    await until("all are gone", async () => (await sync.objectIn(tenant, "gone")) === undefined);
    assert.equal(await sync.secretIn(management, name), undefined);
    assert.equal(await sync.copyOf(management, object), undefined);
  });
}

import assert from "node:assert/strict";
import { test } from "node:test";
import type { V1Role, V1RoleBinding } from "@kubernetes/client-node";
import { managementAccount, tenantAccount } from "#contract/names.ts";
import { loadDocuments } from "#kube/yaml.ts";
import { call } from "#plugin/fake.fixture.ts";

async function printed(name: string): Promise<string> {
  const { code, out } = await call(["fleet tenant", name]);
  assert.equal(code, 0);
  return out;
}

test("writes any name of a tenant's namespace as text into the manifest", async () => {
  for (const name of ["tenant-a", "1234", "1e3", "0x1f", "12-34", "true", "null", "on", "y"]) {
    const text = await printed(name);
    const isPlain = name === "tenant-a";
    assert.match(text, new RegExp(`^  name: ${isPlain ? name : `"${name}"`}$`, "m"));
    const [first, ...others] = loadDocuments(text) as { metadata: Record<string, unknown> }[];
    assert.equal(first?.metadata["name"], name);
    assert.ok(others.length > 5);
    for (const { metadata } of others) assert.equal(metadata["namespace"], name);
  }
});

test("binds each printed Role to an account of its side", async () => {
  type Binding = V1RoleBinding & Readonly<{ kind: string }>;
  const objects = loadDocuments(await printed("tenant-a")) as Binding[];
  const named = objects.map(({ kind, metadata }) => `${kind}/${metadata?.name}`);
  const bindings = objects.filter(({ kind }) => kind === "RoleBinding");
  const bound = bindings.map(({ roleRef }) => `${roleRef.kind}/${roleRef.name}`);
  assert.deepEqual(
    bound,
    named.filter((name) => name.startsWith("Role/")),
  );
  const accounts = bindings.flatMap(({ subjects = [] }) =>
    subjects.map(({ kind, namespace, name }) => `${kind}/${namespace}/${name}`),
  );
  assert.deepEqual(accounts, [
    `ServiceAccount/tenant-a/${tenantAccount}`,
    `ServiceAccount/kube-system/${managementAccount}`,
  ]);
});

test("grants each account only what its program uses", async () => {
  const objects = loadDocuments(await printed("tenant-a")) as (V1Role & { kind: string })[];
  const granted = objects
    .filter(({ kind }) => kind === "Role")
    .map(({ metadata, rules = [] }) => [
      metadata?.name,
      rules.map(({ apiGroups = [], resources = [], resourceNames = [], verbs }) =>
        [...apiGroups, ...resources, ...resourceNames, verbs.join(",")].join(" ").trim(),
      ),
    ]);
  const all = "get,list,watch,create,patch,delete";
  const group = "globalpullsecret.io";
  assert.deepEqual(granted, [
    [
      tenantAccount,
      [`${group} syncsecrets ${all}`, `serviceaccounts/token ${tenantAccount} create`],
    ],
    [
      managementAccount,
      [
        `${group} syncsecrets get,list,watch`,
        `${group} syncsecrets/status patch`,
        `${group} syncsecrets/finalizers update`,
        `secrets ${all}`,
        "events create",
      ],
    ],
  ]);
});

const own = /^NAMESPACE "[^"]*": belongs to the cluster; give the tenant's own namespace\n$/;
const invalid = /^NAMESPACE "[^"]*": is not a valid namespace name \(example: tenant-a\)\n$/;
for (const [name, message] of [
  ["default", own],
  ["kube-system", own],
  ["Tenant", invalid],
] as const)
  test(`refuses the namespace ${name}`, async () => {
    const { code, out, err } = await call(["fleet tenant", name]);
    assert.deepEqual([code, out], [2, ""]);
    assert.match(err, message);
  });

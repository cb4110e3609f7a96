/** Compares the code and the tests with SECURITY.md's lists of actors, paths and calls. */
import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import test from "node:test";
import type { V1Container, V1VolumeMount } from "@kubernetes/client-node";
import { daemonSet, role } from "#controller/objects/daemonset.ts";
import { deliveryModes } from "#contract/names.ts";
import { deliveryOf, type DeliveryPolicy } from "#controller/policy/policy.ts";
import { policyWith } from "#controller/policy/policy.fixture.ts";

const page = readFileSync("SECURITY.md", "utf8");

/** The cells of the table whose header row begins with this text. */
function table(header: string): string[][] {
  const start = page.indexOf(`| ${header}`);
  assert.ok(start >= 0, header);
  const [rows = ""] = page.slice(start).split("\n\n");
  return rows
    .split("\n")
    .slice(2)
    .map((row) => row.split("|").slice(1, -1))
    .map((cells) => cells.map((cell) => cell.trim()));
}

/** Actor → the file that tests this row, if test/controller/actors.test.ts does not. */
const elsewhere: Readonly<Record<string, string>> = {
  "who holds `view`": "test/controller/api.test.ts",
  "who may write NodePullSecrets in kube-system": "agent/decide/decide.test.ts",
  "who is root on a node": "test/controller/reports.test.ts",
  "who may write Leases in kube-node-lease": "agent/report/reports.test.ts",
  "who writes admission policies or webhooks": "test/controller/admission.test.ts",
  "an unprivileged pod": "test/story/agent.test.ts",
  "the fleet's controller, where `manifests/fleet` is installed": "test/fleet/fleet.test.ts",
  "who may write FleetSecrets": "fleet/source.test.ts",
  "who may label Namespaces, or write a `…-kubeconfig` of Cluster API in a labelled one":
    "test/fleet/fleet.test.ts",
  "who may write ClusterProfiles of a selected manager in a selected namespace, or Secrets there":
    "fleet/inventory/cluster-profiles.test.ts",
  "the account that joining makes in a cluster (`global-pull-secret-joined`)":
    "test/clusters/theft.test.ts",
  "who runs a selected cluster, or a hosted guest": "test/controller/guest.test.ts",
  "the tenant's side of SyncSecret, or who has its kubeconfig": "test/tenants/rights.ts",
  "the management side of SyncSecret, where `manifests/sync` is installed":
    "test/tenants/rights.ts",
  "who holds `view`, `edit` or `admin` in a namespace with SyncSecrets": "test/tenants/rights.ts",
};

test("SECURITY.md has no actor without a test, and no test is for another actor", () => {
  const tests = readFileSync("test/controller/actors.test.ts", "utf8");
  const rows = Array.from(tests.matchAll(/^ {2}async "(.+)"\(\)/gm), ([, actor = ""]) => actor);
  assert.ok(rows.length > 4, rows.join());
  const tested = [...rows, ...Object.keys(elsewhere)];
  const actors = table("actor").map(([actor = ""]) => {
    // A test can leave out an explanation in brackets.
    return tested.includes(actor) ? actor : actor.replace(/ \([^)]*\)$/, "");
  });
  assert.deepEqual(actors.toSorted(), tested.toSorted());
  for (const file of Object.values(elsewhere)) assert.ok(existsSync(file), file);
});

const podOf = (delivery: DeliveryPolicy) => {
  const run = { image: "x", imagePullSecrets: [], probationSeconds: 5 };
  return daemonSet({ ...policyWith().agent, ...run, delivery }, 1).spec?.template.spec;
};
const modes = deliveryModes.map((mode) => deliveryOf({ mode }, mode));

/** The paths that Node.js allows the container to read or write. */
function allowed(container: V1Container | undefined, what: "read" | "write"): string[] {
  const mark = `--allow-fs-${what}=`;
  const flags = container?.command?.filter((flag) => flag.startsWith(mark)) ?? [];
  return flags.map((flag) => flag.slice(mark.length)).toSorted();
}

for (const what of ["read", "write"] as const)
  test(`SECURITY.md names every path that agents can ${what}, in every mode`, () => {
    const rows = table(`the agent may ${what}`);
    const named = rows.map(([path = ""]) => path.replaceAll("`", "")).toSorted();
    for (const delivery of modes)
      assert.deepEqual(named, allowed(podOf(delivery)?.containers[0], what), delivery.mode);
  });

/** recursiveReadOnly of a read-only mount → the words in SECURITY.md. */
const readOnly: Readonly<Record<string, string>> = {
  Enabled: "read-only, recursively",
  IfPossible: "read-only, recursively where the runtime can",
  Disabled: "read-only, but not recursively",
};

/** The paths of a cell. `/a/{b,c}` stands for /a/b and /a/c. */
function pathsOf(cell: string): string[] {
  const [parent = "", folders] = cell.replaceAll(/[`}]/g, "").split("{");
  return folders?.split(",").map((folder) => parent + folder) ?? [parent];
}

test("SECURITY.md names the node's directories that each container mounts or covers, and how, in every mode", () => {
  const rows = table("mount of the node");
  for (const delivery of modes) {
    const { containers = [], volumes = [] } = podOf(delivery) ?? {};
    const volumeOf = (mount: V1VolumeMount) => volumes.find(({ name }) => name === mount.name);
    const mounted = containers.flatMap(({ name, volumeMounts = [] }) =>
      volumeMounts.flatMap((mount) => {
        const how = mount.readOnly ? readOnly[mount.recursiveReadOnly ?? "Disabled"] : "writable";
        const { hostPath, emptyDir } = volumeOf(mount) ?? {};
        if (hostPath) return `${hostPath.path} ${name} ${how}`;
        // A cover is inside of another mount.
        const outer = volumeMounts.find(({ mountPath }) =>
          mount.mountPath.startsWith(`${mountPath}/`),
        );
        if (!emptyDir || !outer) return [];
        const path = `${volumeOf(outer)?.hostPath?.path}${mount.mountPath.slice(outer.mountPath.length)}`;
        const isReadOnly = mount.readOnly ? "read-only" : "writable";
        return `${path} ${name} covered by an empty volume, ${isReadOnly}`;
      }),
    );
    const named = rows.flatMap(([cell = "", container = "", how = "", when = ""]) =>
      when.startsWith("every mode") || when.includes(delivery.mode)
        ? pathsOf(cell).map((path) => `${path} ${container} ${how}`.replaceAll("`", ""))
        : [],
    );
    assert.deepEqual(named.toSorted(), mounted.toSorted(), delivery.mode);
  }
});

test("SECURITY.md describes each container's security context correctly", () => {
  for (const delivery of modes) {
    const pod = podOf(delivery);
    const { hostNetwork, hostPID, hostIPC, automountServiceAccountToken } = pod ?? {};
    assert.deepEqual(
      [hostNetwork, hostPID, hostIPC, automountServiceAccountToken],
      [true, undefined, undefined, false],
    );
    assert.deepEqual(pod?.securityContext?.seccompProfile, { type: "RuntimeDefault" });
    assert.deepEqual(pod.securityContext.seLinuxOptions, { type: "spc_t" });
    assert.equal(pod.securityContext.appArmorProfile, undefined);
    const relaxed = (containers: readonly V1Container[] = []) =>
      containers.map(({ securityContext = {} }) => {
        const { seccompProfile, seLinuxOptions, privileged, appArmorProfile } = securityContext;
        return [seccompProfile, seLinuxOptions, privileged, appArmorProfile?.type];
      });
    const agents = delivery.mode === "Restart" ? "Unconfined" : undefined;
    assert.deepEqual(relaxed(pod.containers), [[undefined, undefined, undefined, agents]]);
    for (const { securityContext } of pod?.containers ?? [])
      assert.partialDeepStrictEqual(securityContext, {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      });
  }
  for (const words of [
    "with **no** capabilities",
    "`allowPrivilegeEscalation: false`",
    "read-only root file system",
    "the runtime's default seccomp profile",
    "not `privileged`",
    "SELinux `spc_t`** in every mode",
    "AppArmor Unconfined** in the agent's container, where it has that socket",
    "no host PID or IPC namespace",
    "host's network",
  ])
    assert.ok(page.replaceAll(/\s+/g, " ").includes(words), words);
});

test("SECURITY.md lists the rights of the agents' Role", () => {
  const [, text = ""] = page.split("## What an agent's token can do");
  const rights = role.rules?.map(({ resources, verbs }) => `${resources?.join()}: ${verbs.join()}`);
  assert.deepEqual(rights, [
    "secrets: list,watch",
    "nodepullsecrets: list,watch",
    "nodepullsecrets/status: patch",
  ]);
  for (const words of [
    "- list and watch the Secret `global-pull-secret`;",
    "- list and watch all NodePullSecrets:",
    "- write the status of the NodePullSecret of the token's node.",
  ])
    assert.ok(text.includes(words), words);
});

test("SECURITY.md names every D-Bus call, and every property that the agent reads", () => {
  const files = globSync("agent/systemd/*.ts").filter((file) => !file.includes(".test."));
  const code = files.map((file) => readFileSync(file, "utf8")).join("\n");
  const namesIn = (pattern: RegExp): string[] => [
    ...new Set([...code.matchAll(pattern)].map(([, name = ""]) => name)),
  ];
  const rows = table("call | of");
  // dbus-next itself calls Hello, therefore the agent's code does not contain this call.
  const calls = rows.flatMap(([names = ""]) => names.split(", ").map((name) => name.slice(1, -1)));
  assert.deepEqual(calls.toSorted(), ["Hello", ...namesIn(/member: "(\w+)"/g)].toSorted());
  const read = rows.find(([names]) => names === "`Get`")?.[1] ?? "";
  const properties = [
    ...namesIn(/get\("(?:Unit|Service)", "(\w+)"\)/g),
    ...namesIn(/stateChange = "(\w+)"/g),
  ];
  assert.ok(properties.length > 10, "found none");
  for (const property of properties) assert.match(read, new RegExp(`\\b${property}\\b`));
  const named = read.match(/\b[A-Z]\w+[a-z]\w*\b/g) ?? [];
  assert.deepEqual([...new Set(named)].toSorted(), [...new Set(properties)].toSorted());
});

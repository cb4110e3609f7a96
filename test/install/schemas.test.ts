/** Compares every installed object with strict schemas of Kubernetes 1.31 to 1.36, offline. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { run } from "../cluster/run.ts";
import type { KubeObject } from "#tools/install/yaml.ts";
import { kubeconform } from "./go-tools.ts";
import { charted, kustomized } from "./kustomize.ts";

const file = join(import.meta.dirname, "schemas.json");
const { kinds, releases, forms } = JSON.parse(readFileSync(file, "utf8")) as {
  kinds: string[];
  releases: Record<string, Record<string, number>>;
  forms: object[];
};

const folder = mkdtempSync(join(tmpdir(), "schemas-"));
after(() => rmSync(folder, { recursive: true }));

/**
 * The file that kubeconform reads for a kind: `…rbac.v1.Role` → `role-rbac-v1.json`. Core kinds
 * have no group.
 */
function fileOf(kind: string): string {
  const [name = "", version = "", group = ""] = kind.split(".").toReversed();
  const words = [name, ...(group === "core" ? [] : [group]), version];
  return `${words.join("-").toLowerCase()}.json`;
}

for (const [release, numbers] of Object.entries(releases)) {
  mkdirSync(join(folder, `v${release}.0`));
  const definitions = Object.fromEntries(
    Object.entries(numbers).map(([name, number]) => [name, forms[number]]),
  );
  for (const kind of kinds) {
    const text = JSON.stringify({ $ref: `#/definitions/${kind}`, definitions });
    writeFileSync(join(folder, `v${release}.0`, fileOf(kind)), text);
  }
}

async function validate(release: string, objects: readonly KubeObject[]): Promise<string> {
  const places = join(folder, "{{.NormalizedKubernetesVersion}}");
  return await run(
    [
      await kubeconform(),
      "-strict",
      "-summary",
      "-kubernetes-version",
      `${release}.0`,
      "-schema-location",
      join(places, "{{.ResourceKind}}{{.KindSuffix}}.json"),
      "-",
    ],
    { input: objects.map((object) => JSON.stringify(object)).join("\n---\n") },
  );
}

/** The chart's objects, without GlobalPullSecret and Namespace, whose kinds have no schema here. */
const chartedWithSchema = async (...args: readonly string[]) =>
  (await charted(...args)).filter(({ kind }) => !/^(GlobalPullSecret|Namespace)$/.test(kind));

const installed: Readonly<Record<string, () => Promise<KubeObject[]>>> = {
  manifests: () => kustomized({ resources: ["."] }),
  chart: () => chartedWithSchema(),
  "chart, role Hosted": () => charted("--set=role=Hosted", "--namespace=clusters-guest"),
  "chart, role Fleet": () =>
    chartedWithSchema("--set=role=Fleet", "--set=fleet.clusterResourceSet=true"),
  "chart, role SyncManagement": () => charted("--set=role=SyncManagement"),
  "chart, role SyncTenant": () =>
    charted("--set=role=SyncTenant", "--set=syncTenant.managementNamespace=tenant-a"),
  "chart with everything": () =>
    chartedWithSchema(
      "--set=networkPolicy.enabled=true",
      "--set=admission.enabled=true",
      "--set=annotated.enabled=true",
      "--set=original=kube-system/pull-secret",
      "--set=extraSources={team}",
      "--set=imagePullSecrets[0].name=mirror",
      "--set=controller.podLabels.a=b",
      "--set=policy.rollout.maxUnavailable=2",
      '--set-json=controller.extraEnv=[{"name":"HTTPS_PROXY","value":"http://proxy:3128"}]',
      '--set-json=controller.extraVolumes=[{"name":"ca","configMap":{"name":"ca"}}]',
      '--set-json=controller.extraVolumeMounts=[{"name":"ca","mountPath":"/etc/ca"}]',
      "--set=serviceAccount.annotations.a=b",
    ),
};

for (const [name, objects] of Object.entries(installed))
  for (const release of Object.keys(releases))
    test(`${name}: is valid on Kubernetes ${release}`, async () => {
      const all = await objects();
      assert.match(await validate(release, all), new RegExp(`Valid: ${all.length},`));
    });

test("reports a field that no release has, and a value of a wrong type", async () => {
  const [account, ...others] = await kustomized({ resources: ["base"] });
  assert.ok(account);
  const wrong = { ...account, metadata: { ...account.metadata, lables: {} } };
  await assert.rejects(validate("1.36", [wrong, ...others]), /lables/);
  const deployment = others.find(({ kind }) => kind === "Deployment");
  assert.ok(deployment);
  const spec = { ...(deployment["spec"] as object), replicas: "two" };
  await assert.rejects(validate("1.36", [{ ...deployment, spec }]), /replicas/);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { globalPullSecretPath } from "#kube/client/paths.ts";
import type { DeliverySpec } from "#api/global-pull-secret.ts";
import { call, FakeCluster } from "../fake.fixture.ts";
import { object } from "../object.fixture.ts";

function cluster(omitted = 0, delivery?: DeliverySpec): FakeCluster {
  const fake = new FakeCluster();
  const registries = [
    { registry: "quay.io", source: "original" },
    { registry: "quay.io/team", source: "team-a", shadows: ["original"] },
    { registry: "ghcr.io", source: "additional-pull-secret" },
  ];
  const status = { registries, ...(omitted > 0 && { registriesOmitted: omitted }) };
  fake.objects.set(
    globalPullSecretPath,
    object({ status, ...(delivery && { spec: { delivery } }) }),
  );
  return fake;
}

test("`explain` names the sources of an image's entries, in the kubelet's order, and needs no right on Secrets", async () => {
  const fake = cluster();
  const { code, out, err } = await call(["explain", "quay.io/team/app:1"], { cluster: fake });
  assert.deepEqual([code, err], [0, ""]);
  const [first = "", firstTry = "", two = "", rest = "", other = ""] = out.split("\n");
  assert.equal(first, "quay.io/team/app:1 is pulled with, in this order:");
  assert.match(firstTry, /^ *1 +quay\.io\/team +of team-a, instead of original$/);
  assert.match(two, /^ *2 +quay\.io +of original$/);
  assert.equal(rest, "not tried:");
  assert.match(other, /ghcr\.io +another host$/);
});

test("in mode CredentialProvider, lists the original's entries first, and shows the scope", async () => {
  const mode = "CredentialProvider";
  const image = ["explain", "quay.io/team/app:1"];
  const all = await call(image, { cluster: cluster(0, { mode }) });
  const [, firstTry = "", two = ""] = all.out.split("\n");
  assert.match(firstTry, /^ *1 +quay\.io +of original$/);
  assert.match(two, /^ *2 +quay\.io\/team +of team-a/);
  assert.equal(all.err, "");
  const scoped = { mode, credentialProvider: { scope: "Annotated" } } as const;
  const some = await call(image, { cluster: cluster(0, scoped) });
  assert.match(some.err, /ServiceAccount is annotated globalpullsecret\.io\/use/);
});

test("in mode Runtime, lists entries of config.json first, and shows which are in hosts.toml", async () => {
  const fake = cluster(0, { mode: "Runtime" });
  const { out } = await call(["explain", "quay.io/team/app:1"], { cluster: fake });
  const registries = [
    { registry: "quay.io", source: "team-a" },
    { registry: "quay.io/team", source: "team-a" },
  ];
  assert.match(out, /1 +quay\.io\/team +of team-a[^\n]*\n +2 +quay\.io +of original\n/);
  const spec = { delivery: { mode: "Runtime" } } as const;
  fake.objects.set(globalPullSecretPath, object({ status: { registries }, spec }));
  const whole = await call(["explain", "quay.io/team/app:1"], { cluster: fake });
  assert.match(whole.out, /1 +quay\.io\/team +of team-a\n +2 +quay\.io +of team-a, in hosts\.toml/);
});

test("F62: `explain` gives the same number to all spellings of one registry in the original", async () => {
  for (const mode of ["Restart", "CredentialProvider"] as const) {
    const fake = cluster(0, { mode });
    const registries = [
      { registry: "quay.io", source: "original" },
      { registry: "https://quay.io", source: "original" },
      { registry: "quay.io/team", source: "original" },
    ];
    fake.objects.set(
      globalPullSecretPath,
      object({ status: { registries }, spec: { delivery: { mode } } }),
    );
    const { out } = await call(["explain", "quay.io/team/app:1"], { cluster: fake });
    const [first = "", ...rest] = out.split("\n");
    assert.match(first, /same number in random order/);
    const numbers = rest.map((line) => line.trim().split(/ +/).slice(0, 2).join(" "));
    assert.deepEqual(
      numbers.slice(0, 3),
      ["1 quay.io/team", "2 https://quay.io", "2 quay.io"].toSorted(),
    );
  }
});

test("`explain -o json` and `-o yaml` have a stable shape, and show whether status lists all registries", async () => {
  const setting = { cluster: cluster(3) };
  const { out, err } = await call(["explain", "ghcr.io/x", "-o", "json"], setting);
  const { image, tries, omitted } = JSON.parse(out) as Record<string, unknown>;
  assert.deepEqual(
    { image, tries, omitted },
    {
      image: "ghcr.io/x",
      tries: [{ registry: "ghcr.io", source: "additional-pull-secret", order: 1 }],
      omitted: 3,
    },
  );
  assert.match(err, /does not list 3 registries/);
  const yaml = await call(["explain", "ghcr.io/x", "-o", "yaml"], setting);
  assert.deepEqual(JSON.parse(yaml.out), JSON.parse(out));
});

test("`explain` reports an image that no entry serves, an invalid image, and a missing object", async () => {
  const nothing = await call(["explain", "docker.io/x/y"], { cluster: cluster() });
  assert.match(nothing.out, /^docker\.io\/x\/y is pulled without a credential\nnot tried:\n/);
  const wrong = await call(["explain", "A//b"], { cluster: cluster() });
  assert.deepEqual([wrong.code, wrong.out], [2, ""]);
  assert.match(wrong.err, /^IMAGE: not an image reference/);
  assert.equal((await call(["explain", "a.io/x"])).code, 1);
});

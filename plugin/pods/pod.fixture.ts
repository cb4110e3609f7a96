/** For tests: a pod of the namespace shop, with the objects that `explain` reads about it. */
import assert from "node:assert/strict";
import type { GlobalPullSecret } from "#api/global-pull-secret.ts";
import { globalPullSecretPath } from "#kube/client/paths.ts";
import { call, FakeCluster, pullSecret } from "#plugin/fake.fixture.ts";
import { object } from "#plugin/object.fixture.ts";

export const shop = "/api/v1/namespaces/shop";
export const denied = "pull access denied, repository does not exist or may require authorization";
export const refusedPull = { reason: "ErrImagePull", message: denied };
/** What to do if the registry refuses the node's credential. */
export const refusedEach = [
  "quay.io refused each credential above",
  "check the node's credential: kubectl pull-secret check --login",
];

type Pod = Readonly<{
  secrets?: readonly string[];
  waiting?: object;
  serviceAccountName?: string;
}>;

export function podOf({ secrets = [], waiting, ...more }: Pod = {}) {
  return {
    kind: "Pod",
    metadata: { name: "web-0", namespace: "shop", uid: "u1", labels: { app: "web" } },
    spec: {
      nodeName: "n7",
      containers: [{ name: "app", image: "quay.io/team/app:1" }],
      imagePullSecrets: secrets.map((name) => ({ name })),
      ...more,
    },
    status: { containerStatuses: [{ name: "app", ...(waiting && { state: { waiting } }) }] },
  };
}

export type Facts = Readonly<{
  pod?: Pod;
  /** The Secrets of the namespace by name, each with its entries or as an object. */
  secrets?: Readonly<Record<string, Readonly<Record<string, string>> | Readonly<{ type: string }>>>;
  account?: object;
  registries?: NonNullable<GlobalPullSecret["status"]>["registries"];
  global?: Parameters<typeof object>[0];
  events?: readonly object[];
  /** Paths below the namespace that the caller is not allowed to read. */
  refused?: readonly string[];
}>;

export const ofOriginal = (...all: readonly string[]) =>
  all.map((registry) => ({ registry, source: "original" }));

export function clusterOf(facts: Facts = {}): FakeCluster {
  const { secrets = {}, account = {}, registries = ofOriginal("quay.io"), global } = facts;
  const fake = new FakeCluster();
  fake.objects.set(`${shop}/pods/web-0`, podOf(facts.pod));
  fake.objects.set(`${shop}/serviceaccounts/default`, account);
  for (const [name, content] of Object.entries(secrets))
    fake.objects.set(`${shop}/secrets/${name}`, "type" in content ? content : pullSecret(content));
  for (const [at, event] of (facts.events ?? []).entries())
    fake.objects.set(`${shop}/events/${at}`, event);
  const status = { registries, ...global?.status };
  fake.objects.set(globalPullSecretPath, object({ ...global, status }));
  for (const path of facts.refused ?? []) fake.refusals.set(`${shop}/${path}`, 403);
  return fake;
}

/** What `explain` prints for these words. */
export async function printed(cluster: FakeCluster, words: readonly string[]): Promise<string> {
  const { code, out, err } = await call(["explain", ...words], { cluster });
  assert.deepEqual([code, err], [0, ""]);
  return out;
}

export const elsewhere =
  "other entries in the node's config.json, and other credential providers, are not known here";

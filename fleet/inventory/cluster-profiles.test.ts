import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterProfileVersion, type ClusterProfile } from "#api/cluster-profile.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { clusterProfilesIn, secretsIn } from "#kube/client/paths.ts";
import { authority, kubeconfig, token } from "#kube/kubeconfig/kubeconfig.fixture.ts";
import { ofProfile, profilesOf } from "./cluster-profiles.ts";

const place = { server: "https://east.example:6443", "certificate-authority-data": authority };
const base64 = (text: string) => Buffer.from(text).toString("base64");

/** A management cluster with these objects by path. */
function homeWith(objects: Readonly<Record<string, object>>): Cluster {
  return {
    get: async (path: string) => objects[path],
    pages: async (path: string, _: unknown, each: (page: unknown[]) => void) =>
      each(Object.keys(objects).flatMap((one) => (one.startsWith(`${path}/`) ? objects[one] : []))),
  } as unknown as Cluster;
}

type Fields = Readonly<Record<string, unknown>>;

function profile(cluster: Fields, name = "secretreader", manager = "globalpullsecret.io") {
  const told = { name: "config", key: "value", context: "guest" };
  const extensions = [{ name: "client.authentication.k8s.io/exec", extension: told }];
  const given = name === "secretreader" ? cluster : { ...cluster, extensions };
  return {
    apiVersion: clusterProfileVersion,
    kind: "ClusterProfile",
    metadata: { name: "east", namespace: "clusters" },
    spec: { clusterManager: { name: manager } },
    status: { accessProviders: [{ name, cluster: given }] },
  } satisfies ClusterProfile;
}

const path = (name: string, where = "clusters") => `${clusterProfilesIn(where)}/${name}`;
const secret = (name: string) => `${secretsIn("clusters")}/${name}`;

test("reads the access from a profile and its token", async () => {
  const data = { token: base64(token) };
  const home = homeWith({ [path("east")]: profile(place), [secret("east")]: { data } });
  const read = await ofProfile(home, "clusters/east");
  assert.ok(read.ok);
  assert.equal(read.access.server, place.server);
  assert.deepEqual(read.access.proof, { token });
});

test("takes only the credential from a kubeconfig's Secret, and the address from the profile", async () => {
  const value = base64(JSON.stringify(kubeconfig({}, { token }, { "current-context": "none" })));
  const home = homeWith({
    [path("east")]: profile(place, "kubeconfig-secretreader"),
    [secret("config")]: { data: { value } },
  });
  const read = await ofProfile(home, "clusters/east");
  assert.ok(read.ok);
  assert.equal(read.access.server, place.server);
  assert.deepEqual(read.access.proof, { token });
});

const refused: readonly (readonly [code: string, cluster: Fields, user?: Fields])[] = [
  ["GPS405", { server: "http://east.example" }],
  ["GPS406", { "certificate-authority-data": "" }],
  ["GPS410", { "certificate-authority": "/etc/ca.crt" }],
  ["GPS411", { "insecure-skip-tls-verify": true }],
  ["GPS412", { "proxy-url": "http://127.0.0.1:1" }],
  ["GPS418", { resolver: "10.0.0.1" }],
  ["GPS408", {}, { exec: { command: "/bin/sh" } }],
  ["GPS413", {}, { token, as: "system:admin" }],
];

for (const [code, cluster, user] of refused)
  for (const reader of ["secretreader", "kubeconfig-secretreader"]) {
    // A token has no user around it.
    if (reader === "secretreader" && user !== undefined) continue;
    test(`${code}refuses a profile with ${JSON.stringify([cluster, user])} by ${reader}`, async () => {
      const value = base64(JSON.stringify(kubeconfig({}, user ?? { token })));
      const home = homeWith({
        [path("east")]: profile({ ...place, ...cluster }, reader),
        [secret("east")]: { data: { token: base64(token) } },
        [secret("config")]: { data: { value } },
      });
      const read = await ofProfile(home, "clusters/east");
      assert.match(read.ok ? "ok" : read.why, new RegExp(code));
    });
  }

test("names the missing object: the profile, or its Secret", async () => {
  const why = async (objects: Readonly<Record<string, object>>) => {
    const read = await ofProfile(homeWith(objects), "clusters/east");
    return read.ok ? "ok" : read.why;
  };
  assert.match(await why({}), /^GPS445: .*clusters\/east/);
  assert.match(await why({ [path("east")]: profile(place) }), /^GPS448: .*east, token/);
});

test("selects only profiles of the named namespaces and managers", async () => {
  const home = homeWith({
    [path("east")]: profile(place),
    [path("foreign")]: profile(place, "secretreader", "somebody.example"),
    [path("east", "elsewhere")]: profile(place),
  });
  const source = {
    namespaces: ["clusters"],
    selector: {},
    clusterManagers: ["globalpullsecret.io"],
  };
  assert.deepEqual(await profilesOf(home, source), ["clusters/east"]);
});

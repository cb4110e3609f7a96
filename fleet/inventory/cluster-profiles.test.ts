import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterProfileVersion, type ClusterProfile } from "#api/cluster-profile.ts";
import { authorityExtension } from "#contract/names.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { clusterProfilesIn, secretsIn } from "#kube/client/paths.ts";
import { authority, certificate, kubeconfig, token } from "#kube/kubeconfig/kubeconfig.fixture.ts";
import { ofProfile, profilesOf } from "./cluster-profiles.ts";

const place = { server: "https://east.example:6443", "certificate-authority-data": authority };
const base64 = (text: string) => Buffer.from(text).toString("base64");

/** A management cluster that contains these objects. The keys are their paths. */
function homeWith(objects: Readonly<Record<string, object>>): Cluster {
  return {
    get: async (path: string) => objects[path],
    pages: async (path: string, _: unknown, each: (page: unknown[]) => void) =>
      each(Object.keys(objects).flatMap((key) => (key.startsWith(`${path}/`) ? objects[key] : []))),
  } as unknown as Cluster;
}

type Fields = Readonly<Record<string, unknown>>;

function profile(cluster: Fields, name = "secretreader", manager = "globalpullsecret.io") {
  const reported = { name: "config", key: "value", context: "guest" };
  const other = (cluster["extensions"] ?? []) as readonly object[];
  const extensions = [...other, { name: "client.authentication.k8s.io/exec", extension: reported }];
  const providerCluster = name === "secretreader" ? cluster : { ...cluster, extensions };
  return {
    apiVersion: clusterProfileVersion,
    kind: "ClusterProfile",
    metadata: { name: "east", namespace: "clusters" },
    spec: { clusterManager: { name: manager } },
    status: { accessProviders: [{ name, cluster: providerCluster }] },
  } satisfies ClusterProfile;
}

const path = (name: string, where = "clusters") => `${clusterProfilesIn(where)}/${name}`;
const secret = (name: string) => `${secretsIn("clusters")}/${name}`;

test("reads the access from a profile and the token in its Secret", async () => {
  const data = { token: base64(token) };
  const home = homeWith({ [path("east")]: profile(place), [secret("east")]: { data } });
  const read = await ofProfile(home, "clusters/east");
  assert.ok(read.ok);
  assert.equal(read.access.server, place.server);
  assert.deepEqual(read.access.proof, { token });
});

/** Reads a profile with the fields `cluster`, whose kubeconfig has the fields `own`. */
async function byKubeconfig(cluster: Fields, own: Fields) {
  const config = kubeconfig({ ...place, ...own }, { token }, { "current-context": "none" });
  const home = homeWith({
    [path("east")]: profile({ ...place, ...cluster }, "kubeconfig-secretreader"),
    [secret("config")]: { data: { value: base64(JSON.stringify(config)) } },
  });
  return await ofProfile(home, "clusters/east");
}

const rewritten = base64(`# ours\n${Buffer.from(authority, "base64").toString()}`);
const same: readonly (readonly [what: string, cluster: Fields, own: Fields])[] = [
  ["the profile's fields", {}, {}],
  ["a slash after the server", {}, { server: `${place.server}/` }],
  ["the authority written in another way", {}, { "certificate-authority-data": rewritten }],
];
for (const [what, cluster, own] of same)
  test(`reads the credential from a kubeconfig with ${what}`, async () => {
    const read = await byKubeconfig(cluster, own);
    assert.ok(read.ok);
    assert.equal(read.access.server, place.server);
    assert.deepEqual(read.access.proof, { token });
  });

test("does not trust a certificate that is only in the profile, even with another PEM label", async () => {
  const other = Buffer.from(certificate, "base64").toString();
  const text = Buffer.from(authority, "base64").toString();
  for (const label of ["X509 CERTIFICATE", "TRUSTED CERTIFICATE"]) {
    const both = base64(`${text}${other.replaceAll("CERTIFICATE", label)}`);
    const read = await byKubeconfig({ "certificate-authority-data": both }, {});
    assert.equal(read.ok ? read.access.authority : authority, authority);
  }
});

const systemRoots = {
  "certificate-authority-data": "",
  extensions: [{ name: authorityExtension, extension: { roots: "system" } }],
};
const elsewhere: readonly (readonly [what: string, fields: Fields])[] = [
  ["another server", { server: "https://other.example:6443" }],
  ["another port", { server: "https://east.example:443" }],
  ["a path", { server: `${place.server}/other` }],
  ["another authority", { "certificate-authority-data": certificate }],
  ["the system's roots", systemRoots],
  ["another name in its certificate", { "tls-server-name": "other.example" }],
];
for (const [what, fields] of elsewhere)
  test(`GPS447: refuses a kubeconfig that differs from its profile by ${what}`, async () => {
    for (const read of [await byKubeconfig({}, fields), await byKubeconfig(fields, {})])
      assert.match(read.ok ? "ok" : read.why, /^GPS447: /);
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
    // secretreader reads only a token, so its Secret cannot contain a user.
    if (reader === "secretreader" && user !== undefined) continue;
    test(`${code}: refuses a profile with the provider ${reader} and ${JSON.stringify([cluster, user])}`, async () => {
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

test("reports whether the profile or its Secret is missing", async () => {
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

import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterProfileVersion, type ClusterProfile } from "#api/cluster-profile.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { clusterProfilesIn, secretsIn } from "#kube/client/paths.ts";
import { authority, token } from "#kube/kubeconfig/kubeconfig.fixture.ts";
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

function profile(cluster: Fields, manager = "globalpullsecret.io") {
  return {
    apiVersion: clusterProfileVersion,
    kind: "ClusterProfile",
    metadata: { name: "east", namespace: "clusters" },
    spec: { clusterManager: { name: manager } },
    status: { accessProviders: [{ name: "secretreader", cluster }] },
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

const refused: readonly (readonly [code: string, cluster: Fields])[] = [
  ["GPS405", { server: "http://east.example" }],
  ["GPS406", { "certificate-authority-data": "" }],
  ["GPS410", { "certificate-authority": "/etc/ca.crt" }],
  ["GPS411", { "insecure-skip-tls-verify": true }],
  ["GPS412", { "proxy-url": "http://127.0.0.1:1" }],
  ["GPS418", { resolver: "10.0.0.1" }],
];

for (const [code, cluster] of refused)
  test(`${code}: refuses a profile with ${JSON.stringify(cluster)}`, async () => {
    const home = homeWith({
      [path("east")]: profile({ ...place, ...cluster }),
      [secret("east")]: { data: { token: base64(token) } },
    });
    const read = await ofProfile(home, "clusters/east");
    assert.match(read.ok ? "ok" : read.why, new RegExp(code));
  });

test("reports whether the profile or its Secret is missing", async () => {
  const why = async (objects: Readonly<Record<string, object>>) => {
    const read = await ofProfile(homeWith(objects), "clusters/east");
    return read.ok ? "ok" : `${read.why} ${read.absent ? "absent" : "present"}`;
  };
  assert.match(await why({}), /^GPS445: .*clusters\/east.* absent$/);
  assert.match(await why({ [path("east")]: profile(place) }), /^GPS448: .*east, token.* absent$/);
  assert.match(await why({ [path("east")]: { ...profile(place), status: {} } }), / present$/);
});

test("gives another text for another address or token, so that a new connection is opened", async () => {
  const textOf = async (server: string, value: string) => {
    const objects = {
      [path("east")]: profile({ ...place, server }),
      [secret("east")]: { data: { token: base64(value) } },
    };
    const read = await ofProfile(homeWith(objects), "clusters/east");
    return read.ok ? read.sourceText : assert.fail(read.why);
  };
  const [one, two] = ["https://one.example", "https://two.example"] as const;
  const texts = [await textOf(one, "a"), await textOf(two, "a"), await textOf(one, "b")];
  assert.equal(new Set(texts).size, 3);
  assert.equal(await textOf(one, "a"), texts[0]);
});

test("selects only profiles of the named namespaces and managers", async () => {
  const home = homeWith({
    [path("east")]: profile(place),
    [path("foreign")]: profile(place, "somebody.example"),
    [path("east", "elsewhere")]: profile(place),
  });
  const source = {
    namespaces: ["clusters"],
    selector: {},
    clusterManagers: ["globalpullsecret.io"],
  };
  assert.deepEqual(await profilesOf(home, source), ["clusters/east"]);
});

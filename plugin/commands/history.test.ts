import assert from "node:assert/strict";
import { test } from "node:test";
import type { V1Secret } from "@kubernetes/client-node";
import { ownerLabels } from "#kube/client/ownership.ts";
import { collections, owned } from "#kube/client/paths.ts";
import { additionalPath, call, FakeCluster, pullSecret } from "../fake.fixture.ts";
import { conditionsOf, inForce, object, source } from "../object.fixture.ts";

type Entries = Readonly<Record<string, string>>;

const dataOf = (entries: Entries): string =>
  pullSecret({ ...entries }).data?.[".dockerconfigjson"] ?? "";

/** What the cluster has of the source additional-pull-secret. */
type Kept = Readonly<{
  /** The document in the Secret. Undefined if the Secret does not exist. */
  present?: Entries | string;
  /** The last accepted document. */
  accepted?: Entries;
  /** The served content, with the source of each registry. Undefined if it is the newest. */
  served?: Readonly<Record<string, readonly [pair: string, from: string]>>;
}>;

const seconds = Date.parse("2026-11-29T10:00:00Z") / 1000;
const metadata = { labels: ownerLabels };
const written = [{ manager: "kubectl-create", time: "2026-11-29T11:00:00Z" }];

function clusterOf({ present, accepted, served }: Kept): FakeCluster {
  const cluster = new FakeCluster();
  const live = pullSecret(typeof present === "object" ? present : {}, { managedFields: written });
  const data = typeof present === "string" ? { ".dockerconfigjson": btoa(present) } : live.data;
  if (present !== undefined) cluster.objects.set(additionalPath, { ...live, data });
  if (accepted !== undefined)
    cluster.objects.set(owned.state, {
      metadata,
      data: { "source.additional": dataOf(accepted) },
    });
  const pairs = Object.entries(served ?? {});
  const slot = {
    "served..dockerconfigjson": dataOf(
      Object.fromEntries(pairs.map(([registry, [pair]]) => [registry, pair])),
    ),
    "served.sources": btoa(
      JSON.stringify(Object.fromEntries(pairs.map(([registry, [, from]]) => [registry, from]))),
    ),
  };
  const servedRevision = served === undefined ? seconds : seconds - 3600;
  const revisions = { revision: btoa(`${seconds}`), "served.revision": btoa(`${servedRevision}`) };
  cluster.objects.set(owned.global, {
    metadata,
    data: { ...revisions, ...(served !== undefined && slot) },
  });
  cluster.change(object({ status: { sources: [source("812")], conditions: inForce } }));
  return cluster;
}

const hosts = (letters: string): Entries =>
  Object.fromEntries(letters.split("").map((letter) => [`${letter}.io`, "u:p"]));

/** What is kept, and the lines of `history` without the head and repeated blanks. */
const listings: readonly (readonly [what: string, kept: Kept, lines: readonly string[]])[] = [
  [
    "one document when everything is done",
    { present: { "a.io": "u:p" }, accepted: { "a.io": "u:p" } },
    ["served 2026-11-29T11:00:00Z 1 -"],
  ],
  [
    "a refused document above the one in force",
    { present: "junk", accepted: { "a.io": "u:p" } },
    ["refused 2026-11-29T11:00:00Z 0 -a.io", "served 2026-11-29T10:00:00Z 1 -"],
  ],
  [
    "a document that the controller has not accepted yet",
    { present: { "a.io": "u:q", "b.io": "u:p" }, accepted: { "a.io": "u:p" } },
    ["pending 2026-11-29T11:00:00Z 2 +b.io ~a.io", "served 2026-11-29T10:00:00Z 1 -"],
  ],
  [
    "a deleted Secret during the grace period",
    { accepted: { "a.io": "u:p" } },
    ["deleted - 0 -a.io", "served 2026-11-29T10:00:00Z 1 -"],
  ],
  [
    "an emptied Secret",
    { present: {}, accepted: { "a.io": "u:p" } },
    ["emptied 2026-11-29T11:00:00Z 0 -a.io", "served 2026-11-29T10:00:00Z 1 -"],
  ],
  [
    "the newest and the served document during a rollout, without the original's entries",
    {
      present: { "a.io": "u:q", "b.io": "u:p" },
      accepted: { "a.io": "u:q", "b.io": "u:p" },
      served: {
        "a.io": ["u:p", "additional"],
        "b.io": ["u:p", "original"],
        "c.io": ["u:p", "original"],
      },
    },
    ["newest 2026-11-29T11:00:00Z 2 ~a.io", "served 2026-11-29T09:00:00Z 2 -"],
  ],
  [
    "at most six registries in a row",
    { present: hosts("abcdefgh"), accepted: hosts("ij") },
    [
      "pending 2026-11-29T11:00:00Z 8 +a.io +b.io +c.io +d.io +e.io +f.io and 4 more",
      "served 2026-11-29T10:00:00Z 2 -",
    ],
  ],
  ["nothing", {}, []],
];
for (const [what, kept, lines] of listings)
  test(`\`history\` lists ${what}`, async () => {
    const { code, out } = await call(["history"], { cluster: clusterOf(kept) });
    const [head = "", ...rows] = out.trimEnd().split("\n");
    assert.match(head, /^ {2}STATE +TIME +REGISTRIES +DIFFERENCE$/);
    assert.deepEqual([code, rows.map((row) => row.trim().replaceAll(/ +/g, " "))], [0, lines]);
  });

test("`undo` puts back nothing from Secrets that someone else created under our names", async () => {
  const served = { "b.io": ["u:p", "additional"] } as const;
  const cluster = clusterOf({ present: { "a.io": "u:p" }, accepted: { "evil.io": "u:p" }, served });
  for (const path of [owned.state, owned.global]) {
    const secret = cluster.objects.get(path) as V1Secret;
    cluster.objects.set(path, { ...secret, metadata: { labels: { team: "web" } } });
  }
  const { code, err } = await call(["undo", "--yes", "--wait=false"], { cluster });
  assert.equal(code, 1);
  assert.match(err, /no earlier document is kept/);
});

test("`history -o json` has a stable shape, and no credential", async () => {
  const cluster = clusterOf({ present: { "a.io": "u:s3cret" }, accepted: { "b.io": "u:p" } });
  const { out } = await call(["history", "-o", "json"], { cluster });
  assert.deepEqual(JSON.parse(out), [
    {
      state: "pending",
      time: "2026-11-29T11:00:00Z",
      registries: 1,
      difference: { added: ["a.io"], changed: [], removed: ["b.io"] },
    },
    { state: "served", time: "2026-11-29T10:00:00Z", registries: 1 },
  ]);
});

test("`history` shows that the controller refused a document that is valid by itself", async () => {
  const cluster = clusterOf({ present: { "a.io": "u:q" }, accepted: { "a.io": "u:p" } });
  const denied = { ...source("812"), accepted: "False", reason: "Rejected" } as const;
  const conditions = conditionsOf("person", "SourceRejected", "denied");
  cluster.change(object({ status: { sources: [denied], conditions } }));
  const { out } = await call(["history"], { cluster });
  assert.match(out, /^ {2}refused .* ~a\.io$/m);
  // A verdict on an earlier version.
  const sources = [{ ...denied, resourceVersion: "811" }];
  cluster.change(object({ status: { sources, conditions } }));
  assert.match((await call(["history"], { cluster })).out, /^ {2}pending .* ~a\.io$/m);
});

test("`history --source` and `undo --source` use the documents of that source", async () => {
  const cluster = clusterOf({ present: { "a.io": "u:p" }, accepted: { "a.io": "u:p" } });
  const path = `${collections.secrets}/team-a-pull`;
  cluster.objects.set(path, pullSecret({ "b.io": "u:q" }, { name: "team-a-pull" }));
  const document = dataOf({ "b.io": "u:p" });
  cluster.objects.set(owned.state, { metadata, data: { "source.team-a": document } });
  const sources = [{ name: "team-a", secretRef: { name: "team-a-pull" } }];
  cluster.change(object({ spec: { sources }, status: { conditions: inForce } }));
  const { out } = await call(["history", "--source", "team-a"], { cluster });
  assert.match(out, /^ {2}pending .* ~b\.io$/m);
  await call(["undo", "--source", "team-a", "--yes", "--wait=false"], { cluster });
  const [write] = cluster.writes;
  assert.equal(write?.path, path);
  assert.equal((write.body as V1Secret).data?.[".dockerconfigjson"], document);
});

test("`undo` puts the accepted document back, byte for byte, after it has asked", async () => {
  for (const present of ["junk", { "a.io": "u:q" }, {}, undefined]) {
    const kept = { accepted: { "a.io": "u:p", "b.io": "u:p" } };
    const cluster = clusterOf(present === undefined ? kept : { ...kept, present });
    const unasked = await call(["undo"], { cluster });
    assert.deepEqual([unasked.code, cluster.writes.length], [2, 0]);
    const { code, out, err } = await call(["undo", "--yes", "--wait=false"], { cluster });
    assert.equal(code, 0, err);
    assert.match(out, /additional-pull-secret: applied \(registries: 2\)\n$/);
    const body = cluster.writes[0]?.body as V1Secret;
    assert.equal(body.data?.[".dockerconfigjson"], dataOf({ "a.io": "u:p", "b.io": "u:p" }));
  }
});

test("`undo` exits with the code of its wait", async () => {
  const cluster = clusterOf({ present: "junk", accepted: { "a.io": "u:p" } });
  cluster.change(object({ spec: { managementState: "Withdrawn" }, status: {} }));
  const { code, err } = await call(["undo", "--yes"], { cluster });
  assert.equal(code, 1);
  assert.match(err, /it is withdrawn/);
});

test("`undo` warns of an expired credential that it puts back", async () => {
  const token = btoa('{"payload":"x","expiration":1600000000}');
  const cluster = clusterOf({
    present: "junk",
    accepted: { "a.io": "u:p", "b.io": `AWS:${token}` },
  });
  const { code, err } = await call(["undo", "--yes", "--wait=false"], { cluster });
  assert.deepEqual([code, cluster.writes.length], [0, 1]);
  assert.match(err, /^GPS178 additional-pull-secret: auths\["b\.io"\]: .* ended at 2020-09-13/);
});

test("`undo` puts the served document back during a rollout, without entries of the original", async () => {
  const cluster = clusterOf({
    present: { "a.io": "u:q", "b.io": "u:p" },
    accepted: { "a.io": "u:q", "b.io": "u:p" },
    served: { "a.io": ["u:p", "additional"], "c.io": ["u:p", "original"] },
  });
  const questions: string[] = [];
  const confirm = (question: string) => Promise.resolve(questions.push(question) > 0);
  const { code, out } = await call(["undo"], { cluster, confirm });
  assert.equal(code, 0);
  assert.match(out, /^ {2}changed {2}a\.io\n {2}removed {2}b\.io\n/);
  assert.deepEqual(questions, ["Put back the served document of additional-pull-secret on fake?"]);
  const body = cluster.writes[0]?.body as V1Secret;
  assert.equal(body.data?.[".dockerconfigjson"], dataOf({ "a.io": "u:p" }));
});

test("`undo` writes nothing if nothing earlier is kept", async () => {
  for (const kept of [{}, { present: { "a.io": "u:p" }, accepted: { "a.io": "u:p" } }]) {
    const cluster = clusterOf(kept);
    const { code, err } = await call(["undo", "--yes"], { cluster });
    assert.deepEqual([code, cluster.writes], [1, []]);
    assert.match(
      err,
      /^additional-pull-secret: no earlier document is kept; apply the earlier file/,
    );
  }
});

test("`undo` writes nothing if the spec now protects one of the registries", async () => {
  const cluster = clusterOf({ accepted: { "a.io": "u:p" } });
  cluster.change(object({ spec: { protectedRegistries: ["a.io"] } }));
  const { code, err } = await call(["undo", "--yes"], { cluster });
  assert.deepEqual([code, cluster.writes], [1, []]);
  assert.match(err, /protected/);
});

test("`history` and `undo` name the right that is missing", async () => {
  const cluster = clusterOf({ accepted: { "a.io": "u:p" } });
  cluster.refusals.set(owned.state, 403);
  for (const words of [["history"], ["undo", "--yes"]]) {
    const { code, err } = await call(words, { cluster });
    assert.equal(code, 1);
    assert.match(err, /global-pull-secret-state: 403 Refused; ask for that right\n$/);
  }
});

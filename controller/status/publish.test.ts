import type { V1Secret } from "@kubernetes/client-node";
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { acceptedFrom, bad, policy, secret, sources, text } from "../sources/accept.fixture.ts";
import { accept } from "../sources/accept.ts";
import { finding } from "../sources/problems.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Announce } from "./events.ts";
import { Contested, type ContestedObject } from "#kube/contested-client.ts";
import { troubles } from "./messages.ts";
import { createMetrics } from "./metrics.ts";
import { progressWith } from "../rollout/progress.fixture.ts";
import { nothingHappened } from "../withdrawal/withdrawal.ts";
import type { Snapshot } from "#controller/sources/snapshot.ts";
import { RequestTroubles } from "./memory.ts";
import type { Outcome } from "./outcome.ts";
import { publisher } from "./publish.ts";
import type { GlobalPullSecret, GlobalPullSecretStatus } from "#api/global-pull-secret.ts";
import { conditionOf } from "#kube/conditions.ts";

let contests: readonly ContestedObject[] = [];

const managed = {
  policy: { managementState: "Managed" },
  problems: [],
  waits: false,
  object: undefined,
} as const;

/** A publisher. It gets the parts of an outcome that a test is about. */
function publisherWith(
  announce: Announce,
  metrics = createMetrics(),
  now = Date.now,
  write: (object: GlobalPullSecret, status: GlobalPullSecretStatus) => void = () => {},
  log: (fields: object, message: string) => void = () => {},
) {
  const publish = publisher({
    announce,
    metrics,
    admitted: { differences: [] },
    contests: () => contests,
    status: { before: () => undefined, write, idle: async () => {} },
    now: () => new Date(now()),
    log,
  });
  return (outcome: Partial<Outcome>): void => publish({ policy: managed, ...outcome });
}

/** Reasons and subjects of the Events for these documents, one after the other. */
function reported(...documents: readonly string[]): string[] {
  const said = new Set<string>();
  const run = publisherWith(({ reason, subject }) => void said.add(`${reason} ${subject}`));
  let before = {};
  for (const [index, document] of documents.entries()) {
    const additional: V1Secret = {
      type: "kubernetes.io/dockerconfigjson",
      metadata: { uid: "u", resourceVersion: `v${index}` },
      data: { ".dockerconfigjson": Buffer.from(document).toString("base64") },
    };
    const verdict = accept(sources({ additional, ...before }), policy);
    run({ verdict, snapshot: snapshotOf({ additional }) });
    if (verdict.problems.additional.length === 0) before = acceptedFrom({ additional });
  }
  return [...said];
}

test("reports rewrites with the same meaning once, so that a thousand rewrites do not cause a thousand Events", async () => {
  const auths = '{"auths":{"a.io":{"auth":"dTpw"}}}';
  assert.deepEqual(reported(auths, ` ${auths}`, JSON.stringify(JSON.parse(auths), null, 2)), [
    "Accepted v0",
  ]);
});

test("reports each edit of a Secret that changes the meaning or is refused", async () => {
  const [first, two] = ['{"auths":{"a.io":{"auth":"dTpw"}}}', '{"auths":{"a.io":{"auth":"dTpx"}}}'];
  assert.deepEqual(reported(first, two, first), ["Accepted v0", "Accepted v1", "Accepted v2"]);
  assert.deepEqual(reported(first, "{", "{ ", first), [
    "Accepted v0",
    "Rejected v1",
    "Rejected v2",
    "Accepted v3",
  ]);
});

const pullSecret = (text: string): V1Secret => ({
  type: "kubernetes.io/dockerconfigjson",
  metadata: { uid: "u", resourceVersion: "1" },
  data: { ".dockerconfigjson": Buffer.from(text).toString("base64") },
});
const noObjects = {
  additional: undefined,
  original: "absent",
  extras: [],
  state: undefined,
  global: undefined,
} as const;
const snapshotOf = (objects: Partial<Snapshot>) => ({ ...noObjects, ...objects }) as Snapshot;
const verdictOf = (additional: V1Secret) => accept(sources({ additional }), policy);

/** A publisher, its Events by reason, and the series for Prometheus except process metrics. */
function watched() {
  const announced: string[] = [];
  const metrics = createMetrics();
  const run = publisherWith(
    ({ reason, message }) => void announced.push(`${reason}: ${message}`),
    metrics,
  );
  const series = async () => {
    const lines = (await metrics.registry.metrics()).split("\n").map((line) => line.split(" "));
    const gauges =
      /^global_pull_secret_(source_accepted|credential_expiry|registries|trouble|revision|rolled_out|nodes)/;
    return Object.fromEntries(
      lines
        .filter(
          ([name = "", value]) =>
            gauges.test(name) && !(name.includes("_trouble") && value === "0"),
        )
        .map(([name = "", value]) => [name.replace("global_pull_secret_", ""), Number(value)]),
    );
  };
  return { run, announced, series };
}

const nothing = { kind: "nothing", leftBehind: [] } as const;
const removal = {
  kind: "removal",
  removal: { ...nothingHappened, step: "release", revision: 7, again: undefined },
} as const;

for (const [stage, revision] of [
  [nothing, 0],
  [removal, 7],
] as const)
  test(`leaves no metric series of a deleted source, so that no alert stays after a refused Secret is deleted (stage: ${stage.kind})`, async () => {
    const { run, series } = watched();
    assert.deepEqual(await series(), {});
    const additional = pullSecret("{");
    run({ verdict: verdictOf(additional), snapshot: snapshotOf({ additional }) });
    assert.deepEqual(await series(), {
      'source_accepted{source="additional-pull-secret"}': 0,
      'trouble{reason="Rejected"}': 1,
    });
    run({ stage });
    assert.deepEqual(await series(), { revision });
  });

test("sends Events about the additional Secret while it exists, and then about its name only", () => {
  let uid: string | undefined;
  const run = publisherWith((_, secret) => void (uid = secret?.uid));
  const snapshotWith = (metadata: object) =>
    snapshotOf({ additional: { ...pullSecret("{}"), metadata: { uid: "u", ...metadata } } });
  const look = (outcome: Partial<Outcome>) => {
    uid = "no Event";
    run({ foreign: ["role"], ...outcome });
    return uid;
  };
  assert.equal(look({ snapshot: snapshotWith({}) }), "u");
  assert.equal(look({}), "u", "the run failed before it read the Secret");
  const deletionTimestamp = new Date(0);
  assert.equal(look({ snapshot: snapshotWith({ deletionTimestamp }) }), undefined);
  assert.equal(look({ snapshot: snapshotWith({}) }), "u");
  const leftBehind = { ...removal, removal: { ...removal.removal, leftBehind: ["n"] } };
  assert.equal(look({ stage: leftBehind, snapshot: snapshotWith({}) }), undefined);
});

test("logs the state of a rollout once, until it changes", () => {
  const lines: string[] = [];
  const write = (fields: object, message: string) =>
    void lines.push(`${message} ${JSON.stringify(fields)}`);
  const run = publisherWith(
    () => {},
    createMetrics(),
    Date.now,
    () => {},
    write,
  );
  const look = (served: number) =>
    run({ stage: { kind: "rollout", progress: progressWith({ served }) } });
  for (const served of [6, 6, 7, 7, 6]) look(served);
  assert.equal(lines.length, 3);
  assert.match(lines[0] ?? "", /^rollout .*"revision":7,"served":6/);
});

test("reports lasting troubles in each run, also a refused Secret that was never deployed", async () => {
  const { run, announced } = watched();
  const additional = pullSecret("{");
  for (let look = 0; look < 3; look++)
    run({ verdict: verdictOf(additional), snapshot: snapshotOf({ additional }) });
  assert.equal(announced.filter((event) => event.startsWith("Rejected: GPS")).length, 3);
});

test("reports a request that is refused twice, in the API server's words, until the request succeeds", async () => {
  const { run, announced, series } = watched();
  const error = new ApiError({
    status: 403,
    reason: "Forbidden",
    method: "PATCH",
    path: "/apis/apps/v1/namespaces/kube-system/daemonsets/global-pull-secret-syncer",
    detail: 'admission webhook "no-host-path" denied the request',
  });
  run({ error });
  assert.deepEqual(announced, []);
  run({ error });
  assert.match(announced[0] ?? "", /^RequestRefused: GPS321 .*"no-host-path" denied the request/);
  assert.deepEqual(await series(), { 'trouble{reason="RequestRefused"}': 1 });
  run({});
  assert.deepEqual(await series(), {});
});

test("reports a refused write that no rollout waits for, from the second refusal until the write succeeds", async () => {
  const { run, announced, series } = watched();
  const look = (error: Error | undefined): void => {
    const progress = progressWith({ failure: error });
    run({ stage: { kind: "rollout", progress }, snapshot: snapshotOf({}) });
  };
  const refused = () => failure(403, "Forbidden");
  const first = refused();
  // The controller does not repeat the refused write in every run.
  for (let rounds = 0; rounds < 3; rounds++) look(first);
  assert.deepEqual(announced, []);
  const second = refused();
  for (let rounds = 0; rounds < 3; rounds++) look(second);
  look(failure(409, "Conflict"));
  assert.match(announced.join(), /^RequestRefused: GPS321 .*403 Forbidden/);
  assert.partialDeepStrictEqual(await series(), { 'trouble{reason="RequestRefused"}': 1 });
  look(undefined);
  assert.ok(!('trouble{reason="RequestRefused"}' in (await series())));
});

const failure = (status: number, reason = "") =>
  new ApiError({ status, reason, method: "GET", path: "/api/v1/nodes" });

test("reports an API server that does not answer for eight runs, not counting conflicts", async () => {
  const { run, announced, series } = watched();
  for (const status of [0, 409, 429, 503, 409, 0, 0, 0, 504]) run({ error: failure(status) });
  assert.deepEqual(announced, []);
  run({ error: failure(0, "Unreachable") });
  assert.match(announced[0] ?? "", /^RequestUnanswered: GPS325 .*no answer Unreachable/);
  assert.deepEqual(await series(), { 'trouble{reason="RequestUnanswered"}': 1 });
  run({ error: failure(0, "Elsewhere") });
  assert.equal(new Set(announced).size, 1, "the same trouble with another text is another Event");
  run({});
  assert.deepEqual(await series(), {});
  announced.length = 0;
  for (let times = 0; times < 7; times++) run({ error: failure(0) });
  assert.deepEqual(announced, [], "it has answered in between");
});

test("after a run that succeeds, counts failures as if there had never been one", () => {
  const runs = fc.array(
    fc.record({
      error: fc.constantFrom(0, 403, 409, 503).map((status) => failure(status, "Reason")),
      isWrite: fc.boolean(),
    }),
    { maxLength: 20 },
  );
  fc.assert(
    fc.property(runs, runs, (earlier, later) => {
      const reports = (troubles: RequestTroubles, failures: typeof later) =>
        failures.map(({ error, isWrite }) =>
          troubles.after(isWrite ? undefined : error, isWrite ? error : undefined, []),
        );
      const troubles = new RequestTroubles();
      reports(troubles, earlier);
      assert.deepEqual(troubles.after(undefined, undefined, []), []);
      assert.deepEqual(reports(troubles, later), reports(new RequestTroubles(), later));
    }),
  );
});

test("writes the status of the latest policy, with what earlier runs have found", () => {
  let written: unknown;
  const run = publisherWith(
    () => {},
    createMetrics(),
    Date.now,
    ({ metadata }, status) => {
      const { sources: judged = [], registries = [], revision } = status;
      const versions = judged.map((source) => source.servedResourceVersion);
      const names = registries.map(({ registry }) => registry);
      const { reason } = conditionOf(status, "Ready") ?? {};
      written = [metadata.generation, reason, versions, names, revision?.inForce];
    },
  );
  const look = (generation: number, outcome: Partial<Outcome>, uid = "u") => {
    // The last status that another controller wrote.
    const status = { sources: [{ name: "additional-pull-secret", servedResourceVersion: "0" }] };
    const object = { metadata: { uid, generation }, status } as unknown as GlobalPullSecret;
    run({ policy: { ...managed, object }, ...outcome });
    return written;
  };
  const additional = pullSecret('{"auths":{"a.io":{"auth":"dTpw"}}}');
  const verdict = verdictOf(additional);
  const stage = { kind: "rollout", progress: progressWith({}) } as const;
  assert.deepEqual(look(1, {}), [1, "Starting", [], [], undefined]);
  const snapshot = snapshotOf({ additional });
  assert.deepEqual(look(2, { verdict, stage, snapshot }), [2, "InForce", ["1"], ["a.io"], 7]);
  assert.deepEqual(look(3, {}), [3, "InForce", ["1"], ["a.io"], 7]);
  const gone = { kind: "nothing", leftBehind: [] } as const;
  assert.deepEqual(look(4, { stage: gone }), [4, "NoSource", [], [], undefined]);
  const unserved = [5, "NoSource", [undefined], ["a.io"], undefined];
  assert.deepEqual(look(5, { verdict, snapshot }), unserved);
  const ofAnotherObject = [6, "NoSource", ["0"], ["a.io"], undefined];
  assert.deepEqual(look(6, { verdict, snapshot }, "v"), ofAnotherObject);
  assert.deepEqual(look(7, { stage: removal }), [7, "Withdrawing", [], [], undefined]);
});

/** The troubles that explain Ready before everything else. The first of them counts. */
const explaining = ["unsupported", "foreign", "refused", "contested", "unanswered"] as const;

/** What a run can end with. */
const ends: Readonly<Record<string, () => Partial<Outcome>>> = {
  "a rollout": () => ({ stage: { kind: "rollout", progress: progressWith({}) } }),
  "a rollout with a refused write": () => ({
    stage: { kind: "rollout", progress: progressWith({ failure: failure(403, "Forbidden") }) },
  }),
  "nothing to do": () => ({ stage: { kind: "nothing", leftBehind: [] } }),
  "another operator": () => ({ platform: "x.io", stage: { kind: "blocked" } }),
  "no other operator, and a refusal": () => ({ platform: "", error: failure(403, "Forbidden") }),
  "an object of another client": () => ({ foreign: ["daemonSet"], stage: { kind: "blocked" } }),
  "a refused Secret": () => {
    const additional = pullSecret("{");
    return { verdict: verdictOf(additional), snapshot: snapshotOf({ additional }) };
  },
  "a refusal": () => ({ error: failure(403, "Forbidden") }),
  "no answer": () => ({ error: failure(503, "ServiceUnavailable") }),
  "a conflict": () => ({ error: failure(409, "Conflict") }),
  "a fault of the controller": () => ({ error: new TypeError("x") }),
  "an undone write": () => ({ error: new Contested({ path: "/api/v1/a/b", manager: "c" }, 60) }),
};

test("shows the same troubles in status, in the metric and in Events, after every run except a failed run that is not reported yet", async (t) => {
  t.after(() => void (contests = []));
  const runs = fc.array(
    fc.tuple(fc.constantFrom(...Object.keys(ends)), fc.constantFrom(1, 1, 2, 8)),
    { maxLength: 12 },
  );
  await fc.assert(
    fc.asyncProperty(runs, async (all) => {
      const metrics = createMetrics();
      const announced = new Map<string, string>();
      let latest: string[] = [];
      let statuses: GlobalPullSecretStatus[] = [];
      const announce: Announce = ({ reason, message, lasting = false }) => {
        if (!lasting) return;
        announced.set(reason, message);
        latest.push(reason);
      };
      const run = publisherWith(announce, metrics, Date.now, (_, status) => statuses.push(status));
      const object = { metadata: { uid: "u", generation: 1 } } as unknown as GlobalPullSecret;
      for (const name of all.flatMap(([end, times]) => Array<string>(times).fill(end))) {
        const outcome = ends[name]?.() ?? {};
        const { error } = outcome;
        contests = error instanceof Contested ? [{ path: "/api/v1/a/b", manager: "c" }] : [];
        [latest, statuses] = [[], []];
        run({ policy: { ...managed, object }, ...outcome });
        const { values } = await metrics.troubles.get();
        const present = values.flatMap(({ labels: { reason }, value }) =>
          value === 1 ? [String(reason)] : [],
        );
        assert.ok(latest.every((reason) => present.includes(reason)));
        assert.ok(present.every((reason) => announced.has(reason)));
        const isReported = latest.some((reason) => /^Request|^WriteContested/.test(reason));
        const [status] = statuses;
        assert.equal(status !== undefined, error === undefined || isReported, name);
        if (status === undefined) continue;
        const { reason = "", message } = conditionOf(status, "Ready") ?? {};
        const shown = explaining.find((kind) => troubles[kind].reason === reason);
        const first = explaining.find((kind) => present.includes(troubles[kind].event));
        assert.equal(shown, first);
        const event = shown && announced.get(troubles[shown].event);
        assert.ok(message?.startsWith(event ?? ""), message);
      }
    }),
  );
});

test("names another field manager while it undoes our writes", async () => {
  const { run, announced, series } = watched();
  const path = "/apis/apps/v1/namespaces/kube-system/daemonsets/global-pull-secret-syncer";
  const contest = { path, manager: "other-operator" };
  contests = [contest];
  run({ error: new Contested(contest, 60) });
  assert.match(
    announced.join(),
    /^WriteContested: GPS326 .*"other-operator" keeps undoing the controller's writes of daemonsets\/global-pull-secret-syncer/,
  );
  // The controller's write of the next minute succeeds, and the other client will undo this write
  // as well.
  run({});
  assert.deepEqual(await series(), { 'trouble{reason="WriteContested"}': 1 });
  contests = [];
  run({});
  assert.deepEqual(await series(), {});
});

test("reports OpenShift and objects of others while they exist", async () => {
  const { run, announced, series } = watched();
  const snapshot = snapshotOf({ additional: pullSecret("{}") });
  run({ platform: "machineconfiguration.openshift.io", foreign: ["daemonSet"], snapshot });
  assert.match(
    announced.join("\n"),
    /^UnsupportedCluster: GPS323 .*\nForeignObject: GPS304 .*daemonsets\/global-pull/,
  );
  assert.deepEqual(await series(), {
    'trouble{reason="UnsupportedCluster"}': 1,
    'trouble{reason="ForeignObject"}': 1,
  });
  run({ platform: "", foreign: [], snapshot });
  assert.deepEqual(await series(), {});
});

test("names a refused extra source in the Event and in the metric", async () => {
  const { run, announced, series } = watched();
  const extras = { "team-a": bad, "team-b": secret(text({ "b.io": "u:p" })) };
  const additional = secret(text({ "a.io": "u:p" }));
  const verdict = accept(sources({ additional, extras }), policy);
  run({ verdict, snapshot: snapshotOf({ additional }) });
  assert.match(announced.join("\n"), /^SourceRejected: GPS115 team-a: auths\["quay\.io"\]/m);
  assert.deepEqual(await series(), {
    'source_accepted{source="additional-pull-secret"}': 1,
    'source_accepted{source="team-a"}': 0,
    'source_accepted{source="team-b"}': 1,
    'trouble{reason="SourceRejected"}': 1,
  });
});

test("shows in a metric when a source's first credential expires, until the source is gone", async () => {
  const { run, series } = watched();
  const until = (exp: number) =>
    `u:eyJhbGciOiJub25lIn0.${Buffer.from(JSON.stringify({ exp })).toString("base64url")}.x`;
  const entries = { "a.io": until(1_900_000_000), "b.io": until(1_800_000_000), "c.io": "u:p" };
  const additional = secret(text(entries));
  const extras = { "team-a": secret(text({ "d.io": "u:p" })) };
  const verdict = accept(sources({ additional, extras }), policy);
  run({ verdict, snapshot: snapshotOf({ additional }) });
  const expiries = async () =>
    Object.entries(await series()).filter(([name]) => name.startsWith("credential_expiry"));
  const name = 'credential_expiry_timestamp_seconds{source="additional-pull-secret"}';
  assert.deepEqual(await expiries(), [[name, 1_800_000_000]]);
  run({ stage: { kind: "nothing", leftBehind: [] } });
  assert.deepEqual(await expiries(), []);
});

test("reports a denied credential in an Event and in metrics, until it is accepted", async () => {
  const { run, announced, series } = watched();
  const additional = pullSecret('{"auths":{"a.io":{"auth":"dTpw"}}}');
  const judged = verdictOf(additional);
  const withAnswer = (verified: "Accepted" | "Denied") => ({
    ...judged,
    registries: judged.registries.map((registry) => Object.assign({}, registry, { verified })),
    denials:
      verified === "Denied"
        ? [finding("denied", "additional-pull-secret", "a", "answers 401")]
        : [],
  });
  run({ verdict: withAnswer("Denied"), snapshot: snapshotOf({ additional }) });
  assert.match(announced.join("\n"), /GPS341 .*its registry denies the credential: answers 401/);
  const denied = await series();
  assert.equal(denied['registries{answer="Denied"}'], 1);
  assert.equal(denied['trouble{reason="CredentialsDenied"}'], 1);
  run({ verdict: withAnswer("Accepted"), snapshot: snapshotOf({ additional }) });
  const accepted = await series();
  const answers = [
    accepted['registries{answer="Accepted"}'],
    accepted['registries{answer="Denied"}'],
  ];
  assert.deepEqual(answers, [1, undefined]);
  assert.equal(accepted['trouble{reason="CredentialsDenied"}'], undefined);
});

test("names the programs that wrote a source's data within ten minutes while it changes too often", () => {
  const announced: string[] = [];
  let time = Date.parse("2026-01-01T00:00:00Z");
  const run = publisherWith(
    ({ message }) => void announced.push(message),
    createMetrics(),
    () => time,
  );
  const managed = (manager: string, fields: object) => ({
    manager,
    operation: "Update",
    fieldsV1: fields,
    time: new Date(time).toISOString(),
  });
  const data = { "f:data": {} };
  /** The other sources, written once, at the beginning. */
  const [extra, original] = ["helm", "flux"].map((manager) => ({
    metadata: { managedFields: [managed(manager, data)] },
  }));
  const look = (...managedFields: readonly object[]) => {
    announced.length = 0;
    const metadata = { managedFields } as unknown as NonNullable<V1Secret["metadata"]>;
    const additional = { ...pullSecret("{}"), metadata };
    const extras = [
      { secret: "kube-system/team-a", lookup: extra },
      { secret: "kube-system/team-b", lookup: "absent" },
      { secret: "kube-system/team-c", lookup: extra },
    ];
    const snapshot = snapshotOf({ additional, extras, original } as never);
    const progress = progressWith({ view: { pending: "flapping" } });
    run({ stage: { kind: "rollout", progress }, snapshot });
    return announced.join();
  };
  const named = /written by ([^;]*);/;
  look(managed("argocd", data), managed("labeller", { "f:metadata": {} }));
  time += 300_000;
  // The second program has replaced the value, so the API server no longer lists the first one.
  const both = look(managed("external-secrets", data));
  assert.equal(
    named.exec(both)?.[1],
    "kube-system/additional-pull-secret (argocd, external-secrets), kube-system/team-a (helm), kube-system/team-c (helm), the original (flux)",
  );
  time += 301_000;
  const last = look(managed("external-secrets", data));
  assert.equal(named.exec(last)?.[1], "kube-system/additional-pull-secret (external-secrets)");
  time += 601_000;
  assert.equal(named.exec(look())?.[1], "unknown programs");
});

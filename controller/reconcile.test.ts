/**
 * Runs the whole controller on a cluster in memory. The cluster has no nodes, so no step waits for
 * a node.
 */
import assert from "node:assert/strict";
import { agent as agentFixture } from "./objects/agent.fixture.ts";
import { test } from "node:test";
import type { KubernetesObject } from "@kubernetes/client-node";
import { secretType } from "#contract/names.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { collections, owned } from "#kube/client/paths.ts";
import { releasedIn } from "./objects/annotations.ts";
import { type Published, readPublished } from "./objects/global-secret.ts";
import type { Outcome } from "./status/outcome.ts";
import { policyWith } from "./policy/policy.fixture.ts";
import type { ExtraSource, ManagementState, WithdrawalPolicy } from "./policy/policy.ts";
import { ranked, extraInput, type Withdrawal } from "./sources/input.ts";
import { reconcile } from "./reconcile.ts";
import type { Reconciler } from "./assembly.ts";
import { Admitted } from "#kube/apply/admission.ts";
import type { NodeMetadata, NodeObject } from "./rollout/objects.ts";
import { Repairs } from "./rollout/write.ts";
import { noState } from "./objects/state.fixture.ts";
import { readState, stateSecret } from "./objects/state.ts";

type Object = KubernetesObject & { data?: Record<string, string>; spec?: object; status?: object };

/** Keeps objects by path. An apply replaces the named fields; that is enough for one writer. */
function inMemory() {
  const objects = new Map<string, Object>();
  let version = 0;
  const put = (path: string, body: Object): Object => {
    version += 1;
    const before = objects.get(path);
    const annotations = { ...before?.metadata?.annotations, ...body.metadata?.annotations };
    const metadata = {
      uid: String(version),
      generation: version,
      ...before?.metadata,
      ...body.metadata,
      annotations,
    };
    const status = {
      observedGeneration: 1e9,
      desiredNumberScheduled: 0,
      updatedNumberScheduled: 0,
      numberAvailable: 0,
    };
    const object = {
      ...before,
      ...body,
      metadata: { ...metadata, resourceVersion: String(version) },
      status,
    };
    objects.set(path, object);
    return object;
  };
  const cluster = {
    get: async (path: string) => objects.get(path),
    apply: async (path: string, body: Object) => put(path, body),
    patch: async (path: string, body: Object) => put(path, body),
    create: async () => {},
    remove: async (path: string) => void objects.delete(path),
  } as unknown as Cluster;
  return { objects, cluster, put, writes: () => version };
}

const additionalPath = `${collections.secrets}/additional-pull-secret`;
const originalPath = `${collections.secrets}/pull-secret`;
const text = (pair: string) =>
  JSON.stringify({ auths: { "quay.io": { auth: Buffer.from(pair).toString("base64") } } });

const pullSecret = (document: string) =>
  ({
    type: secretType,
    data: { ".dockerconfigjson": Buffer.from(document).toString("base64") },
  }) as Object;

/** An informer of these objects. */
const showing = <T>(items: ReadonlyMap<string, T>) => ({
  view: { synced: true, listed: true, items },
  wrote: () => {},
});

function start(graceSeconds: number, onDelete: WithdrawalPolicy["onDelete"] = "Withdraw") {
  const { objects, cluster, put, writes } = inMemory();
  const nodes = new Map<string, NodeMetadata>();
  const nodeObjects = new Map<string, NodeObject>();
  let seconds = 0;
  let declared: readonly ExtraSource[] = [];
  let managementState: ManagementState = "Managed";
  let withdraws: Withdrawal | undefined;
  let warnings: readonly string[] = [];
  let message = "";
  let stage: Outcome["stage"];
  /** The API group of another operator that owns the nodes' pull secrets. */
  let group: string | undefined;
  /** Paths of new objects that the watches have not shown yet. */
  const unseen = new Set<string>();
  const get: Cluster["get"] = async (path) =>
    unseen.has(path) ? undefined : await cluster.get(path);
  const reconciler = {
    cluster: { ...cluster, get },
    live: cluster,
    original: {
      read: async () => objects.get(originalPath) ?? "absent",
      name: "kube-system/pull-secret",
    },
    extras: {
      read: async (declared: readonly ExtraSource[], isFresh = false) =>
        ranked(declared).map(({ name, secretName }) => {
          const path = `${collections.secrets}/${secretName}`;
          const secret = isFresh || !unseen.has(path) ? objects.get(path) : undefined;
          return extraInput(name, `kube-system/${secretName}`, secret ?? "absent");
        }),
    },
    policy: {
      ...policyWith({ maxUnavailable: "100%" }),
      get withdrawal() {
        return { ...policyWith().withdrawal, graceSeconds, onDelete };
      },
      get sources() {
        return declared;
      },
      get managementState() {
        return managementState;
      },
    },
    verifier: { look: () => () => undefined },
    retry: "",
    get policyReading() {
      return { accepted: { spec: { managementState }, sourcesFrom: "uid" }, orphans: [] };
    },
    publish({ verdict, stage: newStage }: Outcome) {
      stage = newStage;
      if (verdict !== undefined) ({ withdraws } = verdict);
      warnings = verdict?.warnings.map(({ code }) => code) ?? [];
      [message = ""] = verdict?.sources.map((source) => source.message) ?? [];
    },
    get agent() {
      return { ...agentFixture, probationSeconds: 3 };
    },
    admitted: new Admitted(() => new Date()),
    unchangedSeconds: () => 0,
    platform: async () => group,
    pods: showing(new Map()),
    objects: showing(nodeObjects),
    nodes: showing(nodes),
    repairs: new Repairs(),
    guard: { isGuarded: async () => true, again: () => Number.POSITIVE_INFINITY },
    ended: { revision: undefined },
    times: () => ({ steady: seconds, api: 1e9 + seconds }),
    now: () => new Date(1e12 + seconds * 1000),
  } as unknown as Reconciler;
  const declare = (path: string, document: string) => put(path, pullSecret(document));
  return {
    objects,
    put,
    additional: (document: string) => declare(additionalPath, document),
    original: (document: string) => declare(originalPath, document),
    withdraw: () => objects.delete(additionalPath),
    /** Adds a Node whose agent has been asked for content. */
    asked: (name: string) => {
      const order = { revision: 1, digest: "d", attempt: 1 };
      const object = { name, nodeUid: name, uid: name, resourceVersion: "1", order };
      nodes.set(name, { name, uid: name, created: 1, isControlPlane: false });
      nodeObjects.set(name, { ...object, isDeleting: false, report: undefined });
    },
    manage: (state: ManagementState) => (managementState = state),
    operator: (found: string | undefined) => (group = found),
    unseen,
    onDelete: (chosen: WithdrawalPolicy["onDelete"]) => (onDelete = chosen),
    /** When a withdrawal begins, according to the report. */
    reported: () => withdraws?.begins?.getTime(),
    warnings: () => warnings,
    /** The message of the source with the highest priority. */
    message: () => message,
    stage: () => stage,
    /** The extra sources in the policy, each `name=priority`. The Secret of `a` is `a-pull`. */
    sources: (...lines: readonly string[]) =>
      (declared = lines.map((line) => {
        const [name = "", priority] = line.split("=");
        return { name, secretName: `${name}-pull`, priority: Number(priority) };
      })),
    extra: (name: string, document: string) =>
      declare(`${collections.secrets}/${name}-pull`, document),
    deleteExtra: (name: string) => objects.delete(`${collections.secrets}/${name}-pull`),
    has: (pair: string) =>
      (readPublished(objects.get(owned.global))?.document ?? "").includes(
        Buffer.from(pair).toString("base64"),
      ),
    look: () => reconcile(reconciler),
    /** Paths of our existing objects. */
    writes,
    remaining: () => Object.values(owned).filter((path) => objects.has(path)),
    /** Runs until nothing is left to do now. Returns the seconds until the next run. */
    async converge() {
      for (let runs = 0; runs < 20; runs++) {
        const before = JSON.stringify([...objects]);
        const again = await reconcile(reconciler);
        if (before === JSON.stringify([...objects])) return again?.seconds;
      }
      throw new Error("something is still due after 20 runs");
    },
    pass: (more: number) => (seconds += more),
    published: () => readPublished(objects.get(owned.global)),
    state: () => readState(objects.get(owned.state)),
    generation: () => objects.get(owned.daemonSet)?.metadata?.generation,
  };
}

async function deployed(graceSeconds: number, onDelete?: WithdrawalPolicy["onDelete"]) {
  const on = start(graceSeconds, onDelete);
  on.original(text("orig:1"));
  on.additional(text("add:1"));
  await on.converge();
  assert.equal(on.published()?.document, text("add:1"));
  return on;
}

test("writes nothing while no source exists and nothing is left", async () => {
  const on = start(30);
  for (let runs = 0; runs < 3; runs += 1) await on.look();
  assert.deepEqual([on.writes(), on.remaining()], [0, []]);
});

test("changes nothing when a Secret is deleted and created again within the grace period", async () => {
  const on = await deployed(30);
  const before = [on.published(), on.generation()];
  on.withdraw();
  assert.equal(await on.converge(), 30);
  on.pass(29);
  assert.equal(await on.converge(), 1);
  on.additional(text("add:1"));
  await on.converge();
  assert.deepEqual([on.published(), on.generation()], before);
  assert.equal(on.state().absentSince.size, 0);
});

test("treats a Secret that a tool has emptied like a deleted one", async () => {
  const document = '{ "auths" : { } , "x": 1 }';
  const on = await deployed(30);
  const before = on.published();
  on.additional(document);
  assert.equal(await on.converge(), 30);
  assert.deepEqual(on.published(), before);
  on.additional(text("add:1"));
  await on.converge();
  assert.deepEqual([on.published(), on.state().absentSince.size], [before, 0]);
  on.additional(document);
  await on.converge();
  on.pass(30);
  await on.converge();
  assert.deepEqual([...on.objects.keys()], [originalPath, additionalPath]);
});

test("treats a Secret that only waits for a finalizer like a deleted one", async () => {
  const on = await deployed(30);
  on.put(additionalPath, { metadata: { deletionTimestamp: new Date(0), finalizers: ["a/b"] } });
  assert.equal(await on.converge(), 30);
  on.pass(30);
  await on.converge();
  assert.deepEqual([...on.objects.keys()], [originalPath, additionalPath]);
});

test("warns of a credential that has expired", async () => {
  const on = start(30);
  // The clock of the cluster in memory shows September 2001.
  for (const [expiration, codes] of [
    [1_000_000_001, []],
    [1_000_000_000, ["GPS178"]],
  ] as const) {
    const token = btoa(JSON.stringify({ payload: "x", expiration }));
    on.additional(text(`AWS:${token}`));
    await on.converge();
    assert.deepEqual(on.warnings(), codes);
  }
});

test("deploys nothing for a Secret that was created without entries", async () => {
  const on = start(30);
  on.additional('{"auths":{}}');
  await on.converge();
  assert.deepEqual(on.remaining(), []);
});

const many = (registries: readonly string[]) =>
  JSON.stringify({ auths: Object.fromEntries(registries.map((host) => [host, { auth: "dTpw" }])) });

function registriesOf(published: Published | undefined): string[] {
  const { auths } = JSON.parse(published?.document ?? "") as { auths: object };
  return Object.keys(auths).toSorted();
}

test("keeps what a Secret has lost for the grace period, if it is most of its registries", async () => {
  const on = await deployed(30);
  on.additional(many(["a.io", "b.io", "c.io", "d.io"]));
  await on.converge();
  const before = on.published();
  on.additional(many(["https://a.io/v1/", "e.io"]));
  assert.equal(await on.converge(), 30);
  assert.deepEqual(on.published(), before);
  assert.match(on.message(), /^GPS340 .*: b\.io, c\.io, d\.io; .* removed at 2001-09-09T01:47:10/);
  on.pass(30);
  await on.converge();
  assert.deepEqual(registriesOf(on.published()), ["a.io", "e.io", "quay.io"]);
  await on.look();
  assert.equal(on.state().absentSince.size, 0);
});

test("drops at once half of the registries, or one", async () => {
  for (const [had, has] of [
    [
      ["a.io", "b.io"],
      ["a.io", "c.io"],
    ],
    [
      ["a.io", "b.io", "c.io", "d.io"],
      ["a.io", "b.io"],
    ],
    [["a.io"], ["b.io"]],
  ] as const) {
    const on = await deployed(30);
    on.additional(many(had));
    await on.converge();
    on.additional(many(has));
    await on.converge();
    assert.deepEqual(registriesOf(on.published()), [...has, "quay.io"], had.join());
  }
});

test("keeps the credentials of a deleted Secret with onDelete Keep, until the grace period after the policy keeps them no more", async () => {
  const on = await deployed(30, "Keep");
  const before = on.published();
  on.withdraw();
  assert.equal(await on.converge(), undefined);
  on.pass(1e6);
  assert.equal(await on.converge(), undefined);
  assert.deepEqual(on.published(), before);
  on.onDelete("Withdraw");
  assert.equal(await on.converge(), 30);
  assert.deepEqual(on.published(), before);
  on.pass(30);
  await on.converge();
  assert.deepEqual([...on.objects.keys()], [originalPath]);
});

test("with onDelete Keep, still drops what a Secret has lost after the grace period", async () => {
  const on = await deployed(30, "Keep");
  on.additional(many(["a.io", "b.io", "c.io"]));
  await on.converge();
  on.additional(many(["a.io"]));
  assert.equal(await on.converge(), 30);
  on.pass(30);
  await on.converge();
  assert.deepEqual(registriesOf(on.published()), ["a.io", "quay.io"]);
});

test("gives a Secret that lost most of its registries the whole grace period, even if it was absent before", async () => {
  for (const onDelete of ["Keep", "Withdraw"] as const) {
    const on = await deployed(30, onDelete);
    on.additional(many(["a.io", "b.io", "c.io"]));
    await on.converge();
    on.withdraw();
    await on.converge();
    on.pass(onDelete === "Keep" ? 1e6 : 29);
    await on.converge();
    on.additional(many(["a.io"]));
    assert.equal(await on.converge(), 30, onDelete);
    assert.deepEqual(registriesOf(on.published()), ["a.io", "b.io", "c.io", "quay.io"]);
  }
});

test("removes everything after the grace period, and keeps no withdrawn credential", async () => {
  const on = await deployed(30);
  on.withdraw();
  await on.converge();
  on.pass(30);
  await on.converge();
  assert.deepEqual([...on.objects.keys()], [originalPath]);
});

test("still ends the grace period when someone deletes all records of the entries", async () => {
  const on = await deployed(30);
  on.withdraw();
  await on.converge();
  for (const path of [owned.state, owned.global]) on.objects.delete(path);
  assert.equal(await on.converge(), 30);
  on.pass(30);
  await on.converge();
  assert.deepEqual([...on.objects.keys()], [originalPath]);
});

test("in a withdrawal, writes no state if only a role is left, or if someone else created the state", async () => {
  const alone = await deployed(0);
  alone.withdraw();
  for (const path of Object.values(owned)) if (path !== owned.role) alone.objects.delete(path);
  const on = await deployed(0);
  on.withdraw();
  while (releasedIn(on.objects.get(owned.global)) === 0) await on.look();
  on.objects.set(owned.state, { metadata: { name: "global-pull-secret-state" } });
  for (const cluster of [alone, on]) {
    const before = cluster.writes();
    await cluster.converge();
    const remaining = cluster.remaining().filter((path) => path !== owned.state);
    assert.deepEqual([cluster.writes() - before, remaining], [0, []]);
  }
});

for (const lost of ["nothing", "global", "daemonSet"] as const)
  test(`removes a withdrawn credential from all our Secrets when someone deleted ${lost}`, async () => {
    const on = await deployed(0);
    on.withdraw();
    if (lost !== "nothing") on.objects.delete(owned[lost]);
    await on.look();
    assert.equal(on.published()?.intent, "release");
    assert.equal(on.published()?.served, "nothing");
    assert.deepEqual(Object.keys(on.state().accepted), ["original"]);
    for (const path of [owned.state, owned.global])
      for (const value of Object.values(on.objects.get(path)?.data ?? {}))
        assert.ok(!atob(value).includes(btoa("add:1")), path);
  });

test("while nothing is deployed, judges no source unless the policy names one", async () => {
  const on = start(30);
  on.original(text("orig:1"));
  await on.converge();
  assert.deepEqual([on.stage()?.kind, on.message()], ["nothing", ""]);
  on.sources("a=1");
  await on.converge();
  assert.equal(on.stage()?.kind, "nothing");
  assert.match(on.message(), /^GPS310 a: kube-system\/a-pull: the Secret does not exist/);
});

test("reports the nodes that a withdrawal left behind when nothing is declared any more", async () => {
  const on = await deployed(0);
  on.asked("a");
  on.withdraw();
  await on.converge();
  assert.ok(on.remaining().length > 0);
  on.pass(policyWith().withdrawal.forgetAfterSeconds + 1);
  await on.converge();
  assert.deepEqual(on.remaining(), []);
  assert.deepEqual(on.stage(), { kind: "nothing", leftBehind: ["a"] });
});

test("rotates the original during the grace period, and restores objects that someone deletes", async () => {
  const on = await deployed(30);
  on.withdraw();
  await on.converge();
  on.original(
    JSON.stringify({
      auths: { ...JSON.parse(text("orig:2")).auths, "o.example": { auth: "bzp4" } },
    }),
  );
  on.objects.delete(owned.serviceAccount);
  on.objects.delete(owned.global);
  await on.converge();
  assert.match(on.published()?.document ?? "", /o\.example/);
  assert.match(on.published()?.document ?? "", new RegExp(Buffer.from("add:1").toString("base64")));
  assert.equal(on.published()?.intent, "apply");
  assert.equal(on.objects.has(owned.serviceAccount), true);
});

test("restores no entry when someone creates a broken Secret during the withdrawal", async () => {
  const on = await deployed(0);
  on.withdraw();
  await on.look();
  assert.equal(on.published()?.intent, "release");
  on.additional('{"auths":{"quay.io":{"auth":"%%%"}}}');
  await on.converge();
  assert.doesNotMatch(
    on.published()?.document ?? "",
    new RegExp(Buffer.from("add:1").toString("base64")),
  );
});

const of = (registry: string, pair: string) =>
  JSON.stringify({ auths: { [registry]: { auth: Buffer.from(pair).toString("base64") } } });

/**
 * additional-pull-secret and two extra sources. Each has a registry of its own, and one registry is
 * in all three.
 */
async function withExtras(graceSeconds: number) {
  const on = start(graceSeconds);
  on.sources("low=1", "high=2");
  on.extra("low", of("low.example", "low:1"));
  on.extra("high", of("high.example", "high:1"));
  on.additional(of("a.example", "add:1"));
  await on.converge();
  assert.deepEqual([on.has("add:1"), on.has("high:1"), on.has("low:1")], [true, true, true]);
  return on;
}

test("after the grace period, removes only the entries that no source except the deleted extra source supplied", async () => {
  const on = await withExtras(30);
  on.deleteExtra("low");
  assert.equal(await on.converge(), 30);
  assert.equal(on.has("low:1"), true);
  on.pass(30);
  await on.converge();
  assert.deepEqual([on.has("add:1"), on.has("high:1"), on.has("low:1")], [true, true, false]);
  assert.equal("low" in on.state().accepted, false);
  assert.equal("high" in on.state().accepted, true);
  on.pass(300);
  await on.converge();
  assert.deepEqual([on.has("low:1"), ...on.state().absentSince.keys()], [false, "low"]);
});

test("removes and forgets an extra source at once when the policy no longer names it", async () => {
  const on = await withExtras(30);
  on.sources("high=2");
  await on.converge();
  assert.deepEqual([on.has("add:1"), on.has("high:1"), on.has("low:1")], [true, true, false]);
  assert.equal("low" in on.state().accepted, false);
});

test("keeps the agents while an extra source supplies entries, even without additional-pull-secret", async () => {
  const on = await withExtras(30);
  on.withdraw();
  await on.converge();
  on.pass(30);
  await on.converge();
  assert.deepEqual([on.has("add:1"), on.has("high:1"), on.has("low:1")], [false, true, true]);
  assert.equal(on.published()?.intent, "apply");
  on.deleteExtra("high");
  on.deleteExtra("low");
  await on.converge();
  on.pass(30);
  await on.converge();
  assert.equal(on.objects.has(owned.global), false);
});

test("deploys agents for one valid extra source, and ignores a source that was never valid, even in a withdrawal", async () => {
  const alone = start(30);
  alone.sources("low=1");
  alone.extra("low", of("low.example", "low:1"));
  await alone.converge();
  assert.equal(alone.has("low:1"), true);
  const broken = start(0);
  broken.sources("low=1");
  broken.extra("low", "{}");
  await broken.converge();
  assert.equal(broken.objects.has(owned.global), false);
  broken.additional(text("add:1"));
  await broken.converge();
  broken.withdraw();
  await broken.converge();
  assert.equal(broken.objects.has(owned.global), false);
});

test("during a pause, delays a withdrawal whose grace period ends, and continues it after the pause", async () => {
  const on = await deployed(30);
  const revision = on.published()?.revision;
  on.manage("Paused");
  on.withdraw();
  assert.equal(await on.converge(), undefined, "during a pause, no end of a grace period is due");
  on.pass(31);
  await on.converge();
  assert.equal(on.published()?.revision, revision);
  assert.equal(on.reported(), 1e12 + 30_000);
  on.manage("Managed");
  await on.converge();
  assert.equal(on.objects.has(owned.global), false);
});

test("delays a withdrawal during a pause even if someone deletes global-pull-secret, and restores this Secret", async () => {
  const on = await deployed(30);
  on.manage("Paused");
  on.withdraw();
  await on.converge();
  on.pass(31);
  await on.converge();
  on.objects.delete(owned.global);
  await on.converge();
  assert.deepEqual([on.published()?.intent, on.has("add:1")], ["apply", true]);
  on.manage("Managed");
  await on.converge();
  assert.deepEqual(on.remaining(), []);
});

type On = Awaited<ReturnType<typeof deployed>>;
const begun: readonly (readonly [what: string, begin: (on: On) => void, then: (on: On) => void])[] =
  [
    [
      "someone creates the Secret again during a pause",
      (on) => on.withdraw(),
      (on) => on.additional(text("add:2")),
    ],
    [
      "someone adds a source and deletes global-pull-secret",
      (on) => on.withdraw(),
      (on) => {
        on.sources("low=1");
        on.extra("low", text("low:1"));
        on.objects.delete(owned.global);
      },
    ],
    ["Withdrawn becomes Paused", (on) => on.manage("Withdrawn"), () => {}],
    [
      "someone creates the Secret again and deletes global-pull-secret",
      (on) => on.withdraw(),
      (on) => {
        on.additional(text("add:2"));
        on.objects.delete(owned.global);
      },
    ],
    [
      "Withdrawn becomes Paused and someone deletes global-pull-secret",
      (on) => on.manage("Withdrawn"),
      (on) => on.objects.delete(owned.global),
    ],
  ];
for (const [what, begin, then] of begun)
  test(`when ${what}, first completes the withdrawal that has begun, and then deploys again`, async () => {
    const on = await deployed(0);
    begin(on);
    await on.look();
    assert.equal(on.published()?.intent, "release");
    on.manage("Paused");
    then(on);
    await on.converge();
    assert.deepEqual([on.objects.has(owned.daemonSet), on.published()], [false, undefined]);
    on.manage("Managed");
    await on.converge();
    assert.equal(on.published()?.intent, "apply");
    assert.equal(on.objects.has(owned.daemonSet), true);
  });

test("completes a withdrawal during a pause if only the state is left", async () => {
  const on = await deployed(0);
  on.withdraw();
  await on.converge();
  on.manage("Paused");
  on.put(owned.state, stateSecret(noState));
  await on.converge();
  assert.deepEqual(on.remaining(), []);
});

test("begins no withdrawal when someone edits global-pull-secret during a pause", async () => {
  const on = await deployed(0);
  on.manage("Paused");
  const { data, metadata } = on.objects.get(owned.global) ?? {};
  on.put(owned.global, {
    data: { ...data, intent: btoa("release") },
    metadata: { ...metadata, managedFields: [] },
  });
  await on.look();
  assert.deepEqual([on.published()?.intent, on.has("add:1")], ["apply", true]);
});

test("records Withdrawn before it grants the release, for a next leader that cannot read the spec", async () => {
  const on = await deployed(3600);
  on.manage("Withdrawn");
  await on.look();
  assert.equal(on.published()?.intent, "release");
  assert.deepEqual(
    [on.state().policy, on.state().sourcesFrom],
    [{ managementState: "Withdrawn" }, "uid"],
  );
});

for (const name of ["additional-pull-secret", "team-pull"])
  test(`deletes nothing of a withdrawal if ${name} was created again, but the watch does not show it yet`, async () => {
    const on = await deployed(30);
    on.sources("team=1");
    on.withdraw();
    await on.converge();
    on.pass(30);
    while (on.published()?.intent !== "release") await on.look();
    const before = on.remaining();
    on.put(`${collections.secrets}/${name}`, pullSecret(text("add:2")));
    on.unseen.add(`${collections.secrets}/${name}`);
    await on.converge();
    assert.deepEqual(on.remaining(), before);
    assert.equal(on.published()?.document, text("add:2"));
  });

test("changes nothing while another operator owns the nodes' pull secrets, and looks again within a minute", async () => {
  const on = await deployed(30);
  const before = on.published();
  on.operator("machineconfiguration.openshift.io");
  on.additional(text("add:2"));
  const again = (await on.converge()) ?? assert.fail("it never looks again");
  assert.ok(again <= 60, `${again} s`);
  assert.deepEqual([on.published(), on.stage()], [before, { kind: "blocked" }]);
  on.operator(undefined);
  await on.converge();
  assert.equal(on.published()?.document, text("add:2"));
});

test("looks again within a minute while a node has no agent's pod, because this is then reported", async () => {
  const on = await deployed(30);
  on.asked("n");
  const again = (await on.converge()) ?? assert.fail("it never looks again");
  assert.ok(again <= 60, `${again} s`);
});

test("changes nothing on the nodes while the old DaemonSet is being deleted", async () => {
  const on = await deployed(30);
  on.put(owned.daemonSet, { metadata: { deletionTimestamp: new Date(0) } });
  const before = [on.generation(), on.published()];
  on.additional(text("add:2"));
  assert.deepEqual(await on.look(), { seconds: 1 });
  assert.deepEqual([on.generation(), on.published()], before);
  assert.deepEqual(on.stage(), { kind: "blocked", by: "DaemonSet" });
});

/** Checks how the answer to a write changes a cluster's state. The cluster is a fake. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { KubernetesObject, ResponseContext } from "@kubernetes/client-node";
import { ApiError, unreachable } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { direct } from "./transport/direct.ts";
import type { Transport } from "./transport/transport.ts";
import { resourceSet } from "./transport/resource-set.ts";
import { FleetCluster } from "./cluster.ts";
import { Connection } from "./connection.ts";
import { contentOf, marked } from "./rules/content.ts";

const content = contentOf("Opaque", { a: "eA==" });
const owner = "id/kube-system/pull-secret";
type Body = Readonly<{ metadata: object }>;
type Watch = (signal: AbortSignal, line: (text: string) => void) => Promise<void>;
const rolloutState: Watch = async (signal) => void (await once(signal, "abort"));

const target = { namespace: "kube-system", name: "pull-secret" };
type Settings = Pick<ConstructorParameters<typeof FleetCluster>[0], "holds" | "transport"> &
  Readonly<{ removes: () => void }>;

/**
 * A cluster that lists `items`, and refuses every deletion unless `removes` is set. It refuses
 * writes only if `refusal` is set. `watch` replaces the cluster's watches.
 */
async function guestWith(
  watch: Watch,
  items: readonly KubernetesObject[] = [],
  refusal?: ApiError,
  { holds = () => true, transport = direct(target), removes }: Partial<Settings> = {},
) {
  let [writes, deletions] = [0, 0];
  const removed: string[] = [];
  async function write(body: Body) {
    writes += 1;
    if (refusal !== undefined) throw refusal;
    return {
      ...body,
      metadata: { ...body.metadata, uid: "u", resourceVersion: String(2 * writes) },
    };
  }
  const cluster = {
    async get() {
      const metadata = { resourceVersion: String(1 + deletions) };
      return { kind: "SecretList", apiVersion: "v1", metadata, items };
    },
    stream: (_: string, __: object, ...[signal, line]: Parameters<Watch>) => watch(signal, line),
    apply: (_path: string, body: Body) => write(body),
    patch: (_path: string, body: Body) => write(body),
    async remove(path: string, uid: string, version?: string) {
      deletions += 1;
      removed.push(`${uid} ${version}`);
      if (removes !== undefined) return removes();
      throw new ApiError({ status: 422, reason: "Invalid", method: "DELETE", path });
    },
  } as unknown as Cluster;
  let hinted = Promise.withResolvers<void>();
  const fleetCluster = new FleetCluster({
    transport,
    reach: cluster,
    holds,
    hint: () => hinted.resolve(),
  });
  await hinted.promise;
  // Gives `watch` one turn of the event loop to start.
  await setImmediate();
  return {
    fleetCluster,
    writes: () => writes,
    deletions: () => deletions,
    /** UID and version that each deletion names. */
    removed,
    /** Waits until the result of a write is known. */
    async untilIdle() {
      while (fleetCluster.busy) {
        hinted = Promise.withResolvers<void>();
        await hinted.promise;
      }
    },
    is: () => fleetCluster.compare(content, owner).is,
    [Symbol.dispose]: () => fleetCluster.close(),
  };
}

test("if no watch is open, does not repeat a write until a list has shown the result", async () => {
  using guest = await guestWith(async () => {});
  for (let n = 0; n < 3; n++) await guest.fleetCluster.change(content, owner);
  assert.equal(guest.writes(), 1);
  assert.equal(guest.fleetCluster.busy, true);
  assert.equal(guest.fleetCluster.withdraw(owner), false, "the Secret might be there");
});

test("uses the answer to a write at once, without waiting for the event of an open watch", async () => {
  using guest = await guestWith(rolloutState);
  assert.equal(guest.is(), "other");
  await guest.fleetCluster.change(content, owner);
  assert.equal(guest.is(), "has");
  assert.equal(guest.fleetCluster.busy, false);
  assert.equal(guest.writes(), 1);
});

for (const [lost, lasts] of [
  ["before a write", 0],
  ["between the writes of two objects", 1],
] as const)
  test(`writes nothing more if the Lease is lost ${lost}`, async () => {
    const holds = (): boolean => guest.writes() < lasts;
    const transport = resourceSet("guest-a", target);
    using guest = await guestWith(rolloutState, [], undefined, { holds, transport });
    await guest.fleetCluster.change(content, owner);
    assert.equal(guest.writes(), lasts);
  });

const message = (text: string) => JSON.stringify({ reason: "Refused", message: text });
const answers: readonly (readonly [what: string, status: number, body: string, own: boolean])[] = [
  ["its rights", 403, message("cannot patch"), true],
  ["a missing namespace", 404, message("namespaces not found"), true],
  ["a webhook", 422, message('admission webhook "x" denied the request: no'), true],
  ["a policy", 422, message("ValidatingAdmissionPolicy 'p' with binding 'b' denied request"), true],
  ["a method that the cluster does not support", 405, "{}", true],
  ["invalid content", 422, message("data: Invalid value"), false],
  ["content that is too large", 413, "{}", false],
];
for (const [what, status, body, own] of answers)
  test(`counts ${status} for ${what} as ${own ? "the cluster's own trouble" : "a refusal of the content"}`, async () => {
    const answer = { httpStatusCode: status, headers: {} } as unknown as ResponseContext;
    const path = "/api/v1/namespaces/kube-system/secrets/pull-secret";
    const error = ApiError.from("PATCH", path, answer, body);
    using guest = await guestWith(rolloutState, [], error);
    await guest.fleetCluster.change(content, owner);
    const refusal = guest.fleetCluster.refusal(content);
    assert.equal(refusal?.own, own);
    assert.match(refusal?.why ?? "", own ? /^GPS439/ : /^GPS475/);
  });

const ours = {
  metadata: {
    name: "pull-secret",
    uid: "u",
    resourceVersion: "1",
    annotations: { "globalpullsecret.io/fleet-owner": owner },
  },
  type: content.type,
  data: content.data,
};

test("asks for the owner of the Secret that it places, not of the object that proves it", async () => {
  const proof = { metadata: { name: "cluster", resourceVersion: "1" } };
  const witness = { collection: "/apis/test/proofs", name: "cluster", keep: () => proof };
  const transport = { ...direct(target), witness };
  using guest = await guestWith(rolloutState, [ours, proof], undefined, { transport });
  assert.equal(guest.is(), "other");
});

test("lets the transport judge the object that proves the Secret", async () => {
  const proof = { metadata: { name: "cluster", resourceVersion: "1" } };
  const witness = { collection: "/apis/test/proofs", name: "cluster", keep: () => proof };
  const seen: unknown[] = [];
  const transport: Transport = {
    ...direct(target),
    witness,
    proof(_, witnessed) {
      seen.push(witnessed);
      return { is: "held", why: "no proof yet" };
    },
  };
  const placed = { ...ours, metadata: { ...ours.metadata, ...marked(owner) } };
  using guest = await guestWith(rolloutState, [placed, proof], undefined, { transport });
  const there = guest.fleetCluster.compare(content, owner);
  assert.deepEqual(there, { is: "has", proof: "held", why: "no proof yet" });
  assert.partialDeepStrictEqual(seen.at(-1), { is: "shown", object: proof });
});

const theirs: readonly (readonly [what: string, object: KubernetesObject])[] = [
  ["without an owner", { ...ours, metadata: { ...ours.metadata, annotations: {} } }],
  [
    "that a former management cluster placed, with the same content",
    {
      ...ours,
      metadata: { ...ours.metadata, annotations: { "globalpullsecret.io/fleet-owner": "old/x" } },
    },
  ],
];
for (const [what, object] of theirs)
  test(`refuses a Secret ${what}, and adopts it when the spec requests that`, async () => {
    using guest = await guestWith(rolloutState, [object]);
    assert.equal(guest.is(), "foreign");
    guest.fleetCluster.holderOf = () => undefined;
    assert.equal(guest.is(), "other");
    await guest.fleetCluster.change(content, owner);
    assert.equal(guest.writes(), 1);
    assert.equal(guest.is(), "has");
  });

test("retries a refused deletion after 5 to 30 seconds even if the system clock jumps", async (t) => {
  using guest = await guestWith(rolloutState, [ours]);
  // `guest` has already read the real clock, so the fake clock must not start earlier. Whole
  // numbers avoid rounding.
  let now = Math.ceil(performance.now());
  t.mock.method(performance, "now", () => now);
  t.mock.method(Date, "now", () => 4e12 / (1 + guest.deletions()));
  for (let asked = 1; asked <= 8; asked++) {
    assert.equal(guest.fleetCluster.withdraw(owner), false);
    await guest.untilIdle();
    assert.equal(guest.deletions(), asked);
    const { why = "", wait = 0 } = guest.fleetCluster.refusal(undefined) ?? {};
    assert.match(
      why,
      /^GPS439: DELETE .*422 Invalid; allow the target to be written and deleted in that cluster$/,
    );
    assert.ok(wait >= (asked < 8 ? 5000 : 30_000));
    assert.ok(guest.fleetCluster.again().includes(wait), "nothing checks again");
    const refused = now;
    for (now of [refused, refused + wait - 1]) {
      assert.equal(guest.fleetCluster.withdraw(owner), false);
      await guest.untilIdle();
      assert.equal(guest.deletions(), asked);
    }
    now = refused + wait;
  }
  // A refused deletion does not count as a refusal of the content.
  assert.equal(guest.fleetCluster.refusal(content), undefined);
});

test("begins again with a short pause when a write has no answer after one that had", async (t) => {
  let isAway = true;
  const removes = () => {
    if (isAway) throw unreachable("DELETE", "/x", new Error("no answer"));
  };
  using guest = await guestWith(rolloutState, [ours], undefined, { removes });
  let now = Math.ceil(performance.now());
  t.mock.method(performance, "now", () => now);
  const { mock } = t.mock.method(Connection.prototype, "observeWrite");
  for (const [away, longest] of [
    [[true, true, true, true, true, true, true, true], 30_000],
    [[false, true], 1000],
  ] as const) {
    for (isAway of away) {
      now += 120_000;
      guest.fleetCluster.withdraw(owner);
      await guest.untilIdle();
      assert.deepEqual(mock.calls.at(-1)?.arguments, [!isAway], "whether it was answered");
    }
    assert.equal(guest.is(), "away");
    now += longest;
    assert.notEqual(guest.is(), "away");
  }
});

test("writes a content five times at once, and then once a minute, while another client changes the Secret each time", async (t) => {
  const conflict = new ApiError({ status: 409, reason: "Conflict", method: "PATCH", path: "/x" });
  using guest = await guestWith(rolloutState, [], conflict);
  const began = Math.ceil(performance.now());
  let now = began;
  t.mock.method(performance, "now", () => now);
  for (const [seconds, writes] of [
    [0, 5],
    [59.999, 5],
    [60, 6],
    [119.999, 6],
    [120, 7],
  ] as const) {
    now = began + seconds * 1000;
    for (let run = 0; run < 20; run += 1) {
      await guest.fleetCluster.change(content, owner);
      await guest.untilIdle();
    }
    assert.equal(guest.writes(), writes, `after ${seconds} s`);
  }
});

test("does not delete again a Secret that a finalizer holds", async () => {
  const deletionTimestamp = "2026-01-01T00:00:00Z" as unknown as Date;
  const metadata = { ...ours.metadata, ...marked(owner), deletionTimestamp };
  using guest = await guestWith(rolloutState, [{ ...ours, metadata }]);
  assert.equal(guest.fleetCluster.withdraw(owner), false);
  await guest.untilIdle();
  assert.equal(guest.deletions(), 0);
  for (const wanted of [undefined, content]) {
    const there = guest.fleetCluster.compare(wanted, owner);
    assert.match("why" in there ? (there.why ?? "") : there.is, /^GPS462/);
  }
  const rotated = contentOf("Opaque", { a: "eQ==" });
  assert.equal(guest.fleetCluster.compare(rotated, owner).is, "other", "it can still be updated");
});

test("removes a Secret that was created again with its mark, until none is left", async () => {
  const items: KubernetesObject[] = [ours];
  const again = { ...ours, metadata: { ...ours.metadata, uid: "v", resourceVersion: "2" } };
  using guest = await guestWith(rolloutState, items, undefined, {
    removes() {
      if (items.pop() === ours) items.push(again);
    },
  });
  assert.equal(guest.fleetCluster.withdraw(owner), false);
  await guest.untilIdle();
  assert.deepEqual(guest.fleetCluster.uids(owner), ["v"]);
  assert.equal(guest.fleetCluster.withdraw(owner, true), false);
  assert.equal(guest.fleetCluster.withdraw(owner), false);
  await guest.untilIdle();
  assert.equal(guest.fleetCluster.withdraw(owner), true);
  assert.deepEqual(guest.removed, ["u 1", "v 2"]);
});

type Guest = Awaited<ReturnType<typeof guestWith>>;
/** What we do in vain each time, because another client in the cluster writes the Secret too. */
const contests: readonly (readonly [
  what: string,
  wanted: typeof content | undefined,
  act: (guest: Guest, undo: () => void) => Promise<void>,
  count: (guest: Guest) => number,
  refusal?: ApiError,
])[] = [
  [
    "writes that another client undoes",
    content,
    async ({ fleetCluster }, undo) => {
      await fleetCluster.change(content, owner);
      undo();
    },
    (guest) => guest.writes(),
  ],
  [
    "writes that come after a write of another client",
    content,
    async (guest) => {
      await guest.fleetCluster.change(content, owner);
      await guest.untilIdle();
    },
    (guest) => guest.writes(),
    new ApiError({ status: 409, reason: "Conflict", method: "PATCH", path: "/x" }),
  ],
  [
    "deletions that another client undoes",
    undefined,
    async (guest) => {
      guest.fleetCluster.withdraw(owner);
      await guest.untilIdle();
    },
    (guest) => guest.deletions(),
  ],
];
for (const [what, wanted, act, count, refusal] of contests)
  test(`limits to five at once, and then to one a minute, ${what}`, async (t) => {
    let send: (line: string) => void = () => {};
    const watch: Watch = async (signal, line) => {
      send = line;
      await once(signal, "abort");
    };
    const edited = { ...ours, data: { a: "dGhlaXJz" } };
    using guest = await guestWith(watch, [edited], refusal, { removes() {} });
    const undo = () => {
      const metadata = { ...ours.metadata, resourceVersion: String(2 * guest.writes() + 1) };
      send(JSON.stringify({ type: "MODIFIED", object: { ...edited, metadata } }));
    };
    let now = Math.ceil(performance.now());
    t.mock.method(performance, "now", () => now);
    const repeat = async () => {
      for (let attempt = 0; attempt < 9; attempt += 1) await act(guest, undo);
    };
    await repeat();
    assert.equal(count(guest), 5);
    const there = guest.fleetCluster.compare(wanted, owner);
    assert.match("why" in there ? (there.why ?? "") : there.is, /^GPS461/);
    for (let minute = 1; minute <= 3; minute += 1) {
      assert.ok(guest.fleetCluster.again().includes(60_000), "nothing checks again");
      now += 59_999;
      await repeat();
      assert.equal(count(guest), 4 + minute);
      now += 1;
      await repeat();
      assert.equal(count(guest), 5 + minute);
    }
  });

import assert from "node:assert/strict";
import { test } from "node:test";
import { ensure, isDrifted } from "./ensure.ts";
import { Admitted, isSame } from "./admission.ts";
import type { V1DaemonSet } from "@kubernetes/client-node";
import type { Cluster } from "#kube/client/cluster.ts";

/** Seconds for which the answer to a dry run counts. */
const believedSeconds = 60;

type Body = {
  kind: string;
  metadata: { name: string; uid?: string; resourceVersion?: string };
  spec: { list: string[]; template: { spec: object } };
};

/** An API server with one object. Its admission can change a list. */
class Server {
  live: Body | undefined;
  version = 10;
  asked: string[] = [];
  admit: (list: readonly string[]) => string[] = (list) => [...list];
  seconds = 0;
  readonly admitted = new Admitted(() => new Date(this.seconds * 1000));

  get on() {
    return {
      cluster: {
        apply: async (...args: unknown[]) => this.#apply(...(args as [string, Body, Options])),
      },
      admitted: this.admitted,
    } as unknown as {
      cluster: Cluster;
      admitted: Admitted;
    };
  }

  async ensure(...list: string[]) {
    return ensure(this.on, "/objects/x", structuredClone(this.live), declared(list));
  }

  /** True if another manager owns a field in the spec. */
  foreign = false;

  /** Another client's write. Admission can also change this write. */
  edit(list: string[]): void {
    this.version += 1;
    this.live = this.#made(list);
  }

  #made(list: readonly string[]): Body {
    const managedFields = this.foreign
      ? [{ manager: "other", operation: "Update", fieldsV1: { "f:spec": { "f:x": {} } } }]
      : [];
    const metadata = { name: "x", uid: "u", resourceVersion: String(this.version), managedFields };
    return {
      kind: "DaemonSet",
      metadata,
      spec: { list: this.admit(list), template: { spec: {} } },
    };
  }

  #apply(_: string, body: Body, { dryRun = false }: Options): Body {
    this.asked.push(dryRun ? "ask" : "write");
    const version = this.live === undefined ? "1" : String(this.version);
    assert.equal(body.metadata.resourceVersion, version, "unconditional write, or another version");
    if (dryRun) return this.#made(body.spec.list);
    this.version += 1;
    this.live = this.#made(body.spec.list);
    return this.live;
  }
}
type Options = { dryRun?: boolean };
const declared = (list: string[]) => ({
  kind: "DaemonSet",
  metadata: { name: "x" },
  spec: { list, template: { spec: {} } },
});

test("makes neither a dry run nor a write for an object that is as declared", async () => {
  const server = new Server();
  await server.ensure("a");
  await server.ensure("a");
  assert.deepEqual(server.asked, ["write"]);
});

test("repairs an edit with one dry run and one write", async () => {
  const server = new Server();
  await server.ensure("a");
  server.edit(["evil"]);
  await server.ensure("a");
  await server.ensure("a");
  assert.deepEqual(server.asked, ["write", "ask", "write"]);
  assert.deepEqual(server.live?.spec.list, ["a"]);
});

test("keeps an addition by admission, with one write, one dry run a minute", async () => {
  const server = new Server();
  server.admit = (list) => [...list, "added"];
  for (server.seconds = 0; server.seconds < 5 * believedSeconds; server.seconds += 1)
    await server.ensure("a");
  assert.deepEqual(server.asked, ["write", "ask", "ask", "ask", "ask"]);
  assert.deepEqual(server.admitted.differences, [["/objects/x", ["spec.list"]]]);
  assert.equal(server.admitted.againSeconds, believedSeconds);
});

test("notices a withdrawn policy within a minute, and removes the policy's addition once", async () => {
  const server = new Server();
  server.admit = (list) => [...list, "added"];
  await server.ensure("a");
  server.admit = (list) => [...list];
  for (; server.seconds <= believedSeconds; server.seconds += 1) await server.ensure("a");
  assert.deepEqual(server.live?.spec.list, ["a"]);
  assert.deepEqual(server.asked, ["write", "ask", "write"]);
  assert.equal(server.admitted.againSeconds, undefined);
});

test("forgets an addition as soon as another client has removed it", async () => {
  const server = new Server();
  server.admit = (list) => [...list, "added"];
  await server.ensure("a");
  server.admit = (list) => [...list];
  server.edit(["a"]);
  await server.ensure("a");
  assert.deepEqual(server.asked, ["write"]);
  assert.deepEqual(server.admitted.differences, []);
  assert.equal(server.admitted.againSeconds, undefined);
});

test("repairs an edit at once, and keeps what admission added", async () => {
  const server = new Server();
  server.admit = (list) => [...list, "added"];
  await server.ensure("a");
  server.edit(["evil"]);
  await server.ensure("a");
  assert.deepEqual(server.live?.spec.list, ["a", "added"]);
});

test("writes a new declaration at once, whatever admission did before", async () => {
  const server = new Server();
  server.admit = (list) => [...list, "added"];
  await server.ensure("a");
  await server.ensure("b");
  assert.deepEqual(server.live?.spec.list, ["b", "added"]);
});

test("keeps another manager's field, and makes no dry run for it", async () => {
  const server = new Server();
  await server.ensure("a");
  server.foreign = true;
  server.edit(["a"]);
  for (; server.seconds < 3 * believedSeconds; server.seconds += 1) await server.ensure("a");
  assert.deepEqual(server.asked, ["write"]);
  // A field that we do not declare is not a difference.
  assert.deepEqual(server.admitted.differences, []);
});

test("repeats the dry run in a new controller, and then writes nothing", async () => {
  const server = new Server();
  server.admit = (list) => [...list, "added"];
  await server.ensure("a");
  const other = Object.assign(new Server(), {
    live: server.live,
    version: server.version,
    admit: server.admit,
  });
  await other.ensure("a");
  await other.ensure("a");
  assert.deepEqual(other.asked, ["ask"]);
});

test("writes once a minute under a policy that makes a different change at each write", async () => {
  const server = new Server();
  server.admit = (list) => [...list, `nonce ${server.asked.length}`];
  for (; server.seconds < 5 * believedSeconds; server.seconds += 1) await server.ensure("a");
  assert.equal(server.asked.filter((request) => request === "write").length, 5);
});

const metadata = { name: "x", uid: "u", generation: 1, resourceVersion: "1", managedFields: [] };
const stored = { kind: "DaemonSet", metadata, spec: { list: ["a"] }, status: { ready: 1 } };
const changes: readonly (readonly [what: string, changed: object, isSame: boolean])[] = [
  ["the version", { metadata: { ...metadata, resourceVersion: "2" } }, true],
  ["the generation", { metadata: { ...metadata, generation: 2 } }, true],
  ["the managers", { metadata: { ...metadata, managedFields: [{ manager: "other" }] } }, true],
  ["the status", { status: { ready: 2 } }, true],
  ["the spec", { spec: { list: ["b"] } }, false],
  ["a label", { metadata: { ...metadata, labels: { a: "b" } } }, false],
  ["an annotation", { metadata: { ...metadata, annotations: { a: "b" } } }, false],
  ["an owner", { metadata: { ...metadata, ownerReferences: [{ name: "a" }] } }, false],
];
for (const [what, changed, isStillSame] of changes)
  test(`${isStillSame ? "ignores" : "notices"} a change of ${what}`, () => {
    const live = { ...stored, ...changed };
    assert.equal(isSame(stored, live), isStillSame);
    const admitted = new Admitted(() => new Date(0));
    admitted.keep("/objects/x", declared(["a"]), stored);
    assert.equal(admitted.holds("/objects/x", declared(["a"]), live), isStillSame);
    assert.equal(admitted.holds("/objects/x", declared(["b"]), live), false);
    assert.equal(admitted.holds("/objects/y", declared(["a"]), live), false);
  });

test("lists only objects of which a declared field differs, but asks again for all", () => {
  const admitted = new Admitted(() => new Date(0));
  assert.equal(admitted.againSeconds, undefined);
  admitted.keep("/objects/x", { spec: { list: ["a"] } }, stored);
  assert.deepEqual(admitted.differences, []);
  assert.equal(admitted.againSeconds, believedSeconds);
  admitted.keep("/objects/y", { spec: { list: ["b"] } }, stored);
  assert.deepEqual(admitted.differences, [["/objects/y", ["spec.list[0]"]]]);
});

test("reports drift only if a write would change the spec, whatever admission added", async () => {
  const server = new Server();
  server.admit = (list) => [...list, "added"];
  await server.ensure("a");
  const drifted = (list: string[]) =>
    isDrifted(
      server.on,
      server.live as unknown as V1DaemonSet,
      declared(list) as unknown as V1DaemonSet,
    );
  assert.equal(await drifted(["a"]), false);
  assert.equal(await drifted(["b"]), true);
});

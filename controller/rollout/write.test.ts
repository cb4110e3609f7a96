/** Writes of NodePullSecrets to a scripted cluster, and repairs. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubernetesObject } from "@kubernetes/client-node";
import { ApiError } from "#kube/client/api-error.ts";
import { collections } from "#kube/client/paths.ts";
import type { NodeFacts } from "./facts.ts";
import { nodePullSecret, objectPath } from "./objects.ts";
import { type ObjectAction, Repairs, writeObjects, type Writing } from "./write.ts";

const nodeNamed = (name: string): NodeFacts => ({
  name,
  uid: `uid-of-${name}`,
  created: 1,
  isControlPlane: false,
  pod: undefined,
  object: {
    uid: `object-of-${name}`,
    resourceVersion: "7",
    isDeleting: false,
    order: undefined,
    report: undefined,
  },
  isRefused: false,
});
const order = { revision: 7, digest: "d", attempt: 9 };
const asks = (...names: readonly string[]): ObjectAction[] =>
  names.map((name) => ({ kind: "ask", node: nodeNamed(name), order }));
const numbered = (count: number) => Array.from({ length: count }, (_, at) => `n${at}`);

type Request = Readonly<{ path: string; body: unknown }>;

/** A cluster whose answers the test decides: an error, or undefined to accept the write. */
function scripted(answer: (path: string) => ApiError | undefined = () => undefined) {
  const requests: Request[] = [];
  const wrote: KubernetesObject[] = [];
  let [underWay, mostUnderWay, steady] = [0, 0, 50];
  const ask = async (path: string, body: unknown): Promise<unknown> => {
    requests.push({ path, body });
    underWay += 1;
    mostUnderWay = Math.max(mostUnderWay, underWay);
    await Promise.resolve();
    underWay -= 1;
    const error = answer(path);
    if (error !== undefined) throw error;
    return { metadata: { name: path.split("/").at(-1) } };
  };
  const repairs = new Repairs();
  const context: Writing = {
    cluster: {
      create: ask,
      patch: ask,
      remove: (path: string, ...version: string[]) => ask(path, version),
    } as unknown as Writing["cluster"],
    objects: { wrote: (object) => void wrote.push(object) },
    repairs,
    times: () => ({ steady, api: 0 }),
  };
  return {
    requests,
    wrote,
    repairs,
    mostUnderWay: () => mostUnderWay,
    pass: (seconds: number) => (steady += seconds),
    write: (actions: readonly ObjectAction[]) => writeObjects(context, actions),
  };
}

const refusal = (status: number, more: { denied?: boolean; retryAfterSeconds?: number } = {}) =>
  new ApiError({ status, reason: "Refused", method: "PATCH", path: "/", ...more });

test("writes an order into the version of the object that was read", async () => {
  const { requests, wrote, write } = scripted();
  await write(asks("a"));
  const metadata = { uid: "object-of-a", resourceVersion: "7" };
  assert.deepEqual(requests, [{ path: objectPath("a"), body: { metadata, spec: order } }]);
  assert.deepEqual(
    wrote.map((object) => object.metadata?.name),
    ["a"],
  );
});

test("creates an object that its Node owns", async () => {
  const { requests, write } = scripted();
  const node = nodeNamed("a");
  await write([{ kind: "create", node }]);
  assert.deepEqual(requests, [{ path: collections.nodePullSecrets, body: nodePullSecret(node) }]);
});

test("deletes the version of a former Node's object that was read", async () => {
  const { requests, wrote, write } = scripted();
  const { name, uid, object } = nodeNamed("a");
  assert.ok(object);
  await write([{ kind: "delete", node: { name, uid, object } }]);
  assert.deepEqual(requests, [{ path: objectPath("a"), body: ["object-of-a", "7"] }]);
  assert.deepEqual(wrote, []);
});

test("sends 16 requests at a time", async () => {
  const { requests, mostUnderWay, write } = scripted();
  await write(asks(...numbered(100)));
  assert.deepEqual([requests.length, mostUnderWay()], [100, 16]);
});

for (const status of [404, 409])
  test(`leaves an object that answers ${status} to the next decision`, async () => {
    const { repairs, requests, write } = scripted((path) =>
      path === objectPath("a") ? refusal(status) : undefined,
    );
    await write(asks("a", "b"));
    assert.deepEqual([requests.length, repairs.failure], [2, undefined]);
  });

const refusals: readonly (readonly [what: string, error: ApiError])[] = [
  ["a missing right", refusal(403)],
  ["an admission policy", refusal(422, { denied: true })],
  ["a webhook that answers 429", refusal(429, { denied: true })],
  ["a webhook that answers 409", refusal(409, { denied: true })],
  ["an error of the API server for this object", refusal(500)],
];
for (const [what, error] of refusals)
  test(`writes the other objects, and repeats the refused write after 5 s and then once a minute: ${what}`, async () => {
    const { repairs, requests, pass, write } = scripted((path) =>
      path === objectPath("a") ? error : undefined,
    );
    const sent = () => requests.filter(({ path }) => path === objectPath("a")).length;
    await write(asks("a", ...numbered(30)));
    assert.deepEqual([requests.length, repairs.failure], [31, error]);
    for (let seconds = 0; seconds < 125; seconds += 1) {
      pass(1);
      await write(asks("a"));
    }
    assert.equal(sent(), 4, "after 0, 5, 65 and 125 s");
    await write([]);
    assert.equal(repairs.failure, error, "the node waits until the pause is over");
    pass(60);
    await write([]);
    assert.equal(repairs.failure, undefined, "nobody wants this write any more");
  });

test("after 429, sends the rest only after the longest Retry-After has passed", async () => {
  let isBusy = true;
  const retryAfter = new Map([
    [objectPath("n20"), 7],
    [objectPath("n21"), 1],
  ]);
  const { repairs, requests, pass, write } = scripted((path) => {
    const retryAfterSeconds = retryAfter.get(path);
    return isBusy && retryAfterSeconds ? refusal(429, { retryAfterSeconds }) : undefined;
  });
  await write(asks(...numbered(100)));
  const first = requests.length;
  assert.ok(first < 40, String(first));
  assert.equal(repairs.again(50), 7);
  pass(6);
  await write(asks("n99"));
  assert.equal(requests.length, first);
  isBusy = false;
  pass(1);
  await write(asks("n20", "n99"));
  assert.equal(requests.length, first + 2);
});

for (const status of [0, 401, 408, 429, 503])
  test(`rejects if no write succeeds because the API server answers ${status}`, async () => {
    const { requests, repairs, write } = scripted(() => refusal(status));
    await assert.rejects(write(asks(...numbered(100))), { status });
    assert.equal(requests.length, 16);
    assert.equal(repairs.failure, undefined);
  });

test("tries again after 1 s, 5 s and then once a minute, and reports an error until the next try succeeds", async () => {
  const repairs = new Repairs();
  const attempt = (now: number, error?: Error) =>
    repairs.attempt("role", now, async () => {
      if (error !== undefined) throw error;
      return "done";
    });
  assert.equal(await attempt(0, refusal(409)), undefined);
  assert.equal(repairs.again(0), 1);
  await attempt(1, refusal(403));
  assert.equal(repairs.again(1), 5);
  assert.equal(await attempt(5), undefined, "too early");
  await attempt(6, refusal(403));
  assert.deepEqual([repairs.again(6), (repairs.failure as ApiError).status], [60, 403]);
  assert.equal(await attempt(66), "done");
  assert.deepEqual([repairs.again(66), repairs.failure], [Number.POSITIVE_INFINITY, undefined]);
});

test("reports a refusal instead of a conflict, in whatever order they came", async () => {
  for (const statuses of [
    [409, 403],
    [403, 409],
  ]) {
    const repairs = new Repairs();
    for (const status of statuses)
      await repairs.attempt(`role ${status}`, 0, async () => {
        throw refusal(status);
      });
    assert.equal((repairs.failure as ApiError).status, 403);
  }
});

test("sends nothing for a second after a write that failed for another reason than an answer", async () => {
  const { requests, pass, write } = scripted((path) =>
    path === objectPath("a") ? (new TypeError("x") as unknown as ApiError) : undefined,
  );
  await assert.rejects(write(asks("a")), TypeError);
  await write(asks("b"));
  assert.equal(requests.length, 1);
  pass(1);
  await write(asks("b"));
  assert.equal(requests.length, 2);
});

test("waits for as long as the API server asks", async () => {
  const repairs = new Repairs();
  await repairs.attempt("role", 0, async () => {
    throw refusal(429, { retryAfterSeconds: 30 });
  });
  assert.equal(repairs.again(0), 30);
});

/** Checks how the source of a FleetSecret is read. The management cluster is a fake. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { secretsIn } from "#kube/client/paths.ts";
import { until } from "#test/cluster/await.ts";
import { FakeApi } from "#test/harness/api/api.ts";
import { directly } from "#test/harness/api/direct.ts";
import { refuse } from "#test/harness/api/protocol.ts";
import { Source } from "./source.ts";

const secrets = secretsIn("kube-system");

/** A source, and the management cluster in which it is. */
async function sourceOf(
  t: TestContext,
  name: string,
  rights: (verb: string, name: string) => boolean,
  status = 403,
) {
  const api = new FakeApi();
  const cluster = directly(api, "global-pull-secret-fleet");
  for (const existing of ["source-pull-secret", "sealed-secrets-key"])
    await cluster.create(secrets, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: existing, namespace: "kube-system" },
      data: { a: "eA==" },
    });
  api.refuses = ({ query }, verb) => {
    const asked = (query?.["fieldSelector"] ?? "").replace("metadata.name=", "");
    return rights(verb, asked) ? undefined : refuse(status, "Refused", "no");
  };
  let watch = new AbortController();
  let [failures, hints] = [0, 0];
  const source = new Source({
    home: {
      ...cluster,
      stream: async (path, query, signal, line) =>
        await cluster.stream(path, query, AbortSignal.any([signal, watch.signal]), line),
    },
    namespace: "kube-system",
    name,
    hint: () => void (hints += 1),
    failed: () => void (failures += 1),
  });
  t.after(() => source.close());
  /** Ends the watch, and waits until the list after the watch has failed. */
  const failAgain = async () => {
    const before = failures;
    watch.abort();
    watch = new AbortController();
    await until("a list has failed", () => failures > before + 1, { timeout: 10_000 });
  };
  return { api, cluster, source, failAgain, hints: () => hints };
}

/** The rights of manifests/fleet: a Role for one name, and a ClusterRole that gets every Secret. */
const shipped = (verb: string, name: string) =>
  name === "source-pull-secret" ? ["list", "watch"].includes(verb) : verb === "get";

test("reads a source that the Role names, and follows its changes", async (t) => {
  const { api, cluster, source } = await sourceOf(t, "source-pull-secret", shipped);
  const data = () =>
    typeof source.reading === "object" && "secret" in source.reading
      ? source.reading.secret?.data
      : undefined;
  await until("it is read", () => data()?.["a"] === "eA==", { timeout: 10_000 });
  api.refuses = () => undefined;
  const path = `${secrets}/source-pull-secret`;
  const { metadata } =
    api.object<{ metadata: { uid: string; resourceVersion: string } }>(path) ?? assert.fail("none");
  await cluster.patch(path, { metadata: { ...metadata }, data: { a: "bmV3" } });
  await until("the change is read", () => data()?.["a"] === "bmV3", { timeout: 10_000 });
});

test("does not read a Secret that no Role names, although the ClusterRole allows to get every Secret", async (t) => {
  const { api, source } = await sourceOf(t, "sealed-secrets-key", shipped);
  await until("it is refused", () => source.reading instanceof Error, { timeout: 10_000 });
  assert.ok(api.asked.every(({ verb }) => verb !== "get"));
});

for (const [status, isKept] of [
  [401, false],
  [403, false],
  [404, true],
  [500, true],
] as const) {
  test(`reports that a source cannot be read when its first list is answered with ${status}`, async (t) => {
    const { source, hints } = await sourceOf(t, "source-pull-secret", () => false, status);
    await until("it is reported", () => source.reading instanceof Error, { timeout: 10_000 });
    assert.ok(hints() > 0, "no run begins");
  });

  test(`${isKept ? "keeps" : "forgets"} a source that was read when a later list is answered with ${status}`, async (t) => {
    const { api, source, failAgain } = await sourceOf(t, "source-pull-secret", shipped);
    const isRead = () => typeof source.reading === "object" && "secret" in source.reading;
    await until("it is read", isRead, { timeout: 10_000 });
    api.refuses = () => refuse(status, "Refused", "no");
    await failAgain();
    assert.equal(isRead(), isKept);
  });
}

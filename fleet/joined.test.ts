/** Reports about a joined cluster whose API server is hostile: a fake one, over TLS. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError, unreachable } from "#kube/client/api-error.ts";
import { readKubeconfig } from "#kube/remote.ts";
import { planted } from "#test/harness/api/manners.ts";
import { FakeServer } from "#test/harness/api/server.ts";
import { JoinedCluster } from "./joined.ts";

test("reports only status and reason of a cluster that answers with its own text", async () => {
  await using fakes = await FakeServer.start();
  fakes.become("east", "fails");
  const read = readKubeconfig(Buffer.from(fakes.kubeconfig("east")), "east");
  assert.ok(read.ok);
  const found = await new JoinedCluster().observe({ ok: true, access: read.access, made: "1" });
  assert.equal(found.kind, "away");
  assert.match("why" in found ? found.why : "", /GET \/version: 500 InternalError$/);
  assert.ok(!JSON.stringify(found).includes(planted));
});

test("does not repeat names in a certificate", () => {
  const cause = Object.assign(new Error(`altnames: DNS:${planted}`), {
    code: "ERR_TLS_CERT_ALTNAME_INVALID",
  });
  const error = unreachable("GET", "/x", new TypeError("fetch failed", { cause }));
  assert.equal(error.bare, "GET /x: no answer Unreachable: its certificate is for another name");
  const answered = new ApiError({
    status: 500,
    reason: "InternalError",
    method: "GET",
    path: "/x",
    detail: planted,
  });
  assert.equal(answered.bare, "GET /x: 500 InternalError");
});

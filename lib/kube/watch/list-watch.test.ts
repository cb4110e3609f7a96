import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError } from "#kube/client/api-error.ts";
import { later } from "#kube/client/retry.ts";
import type { Query } from "#kube/client/cluster.ts";
import { listAndWatch } from "./list-watch.ts";

test("requests bookmarks, which show the progress of a quiet watch", async () => {
  const stop = new AbortController();
  const asked: Query[] = [];
  await listAndWatch({
    cluster: {
      stream: async (_path, query) => {
        asked.push(query);
        stop.abort();
      },
    },
    path: "/api/v1/nodes",
    query: { labelSelector: "a=b" },
    list: async () => "7",
    received: () => {},
    failed: (error) => assert.fail(error),
    signal: stop.signal,
  });
  const [{ timeoutSeconds, ...query } = { timeoutSeconds: "" }] = asked;
  assert.deepEqual(query, {
    labelSelector: "a=b",
    resourceVersion: "7",
    allowWatchBookmarks: "true",
  });
  assert.ok(Number(timeoutSeconds) > 0);
});

test("ends its pause at once when it is stopped", async () => {
  const stop = new AbortController();
  const asked = { status: 429, reason: "TooManyRequests", method: "LIST", path: "/x" };
  const ended = listAndWatch({
    cluster: { stream: async () => assert.fail("nothing to watch") },
    path: "/x",
    query: {},
    list: () => Promise.reject(new ApiError({ ...asked, retryAfterSeconds: 3600 })),
    received: () => {},
    failed: () => void setImmediate(() => stop.abort()),
    signal: stop.signal,
  });
  const outcome = Promise.race([ended.then(() => "ended"), later(10_000).then(() => "pauses")]);
  assert.equal(await outcome, "ended");
});

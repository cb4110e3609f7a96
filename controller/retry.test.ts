import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError } from "#kube/client/api-error.ts";
import { reminder } from "#runtime/reminder.ts";
import { retryUntilAnswered } from "./image.ts";

const failure = (status: number) =>
  new ApiError({ status, reason: "Unreachable", method: "GET", path: "/pod", detail: "why" });

for (const status of [0, 429, 500, 503])
  test(`B18: repeats a request that failed with ${status}, and reports why at once and once a minute`, async () => {
    let now = 0;
    const reported: number[] = [];
    const answer = await retryUntilAnswered(
      () => (now < 200_000 ? Promise.reject(failure(status)) : Promise.resolve("here")),
      {
        failed(error) {
          assert.match(error.message, /GET \/pod: .+ Unreachable: why$/);
          reported.push(Math.floor(now / 60_000));
        },
        due: reminder(() => now),
        pause: async (milliseconds) => void (now += milliseconds),
      },
    );
    assert.equal(answer, "here");
    assert.equal(reported[0], 0);
    assert.ok(reported.length >= 2 && reported.length <= 4, reported.join());
    assert.deepEqual(reported, [...new Set(reported)], "twice in a minute");
  });

test("gives up after a refusal that will not change, and after an error that is not an answer of the API server", async () => {
  for (const error of [failure(403), failure(404), new Error("--agent-image")])
    await assert.rejects(
      retryUntilAnswered(() => Promise.reject(error), {
        failed: () => assert.fail("it is not repeated"),
      }),
      error,
    );
});

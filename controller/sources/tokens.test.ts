/** F61: no Event, condition, status or log line shows a token, wherever a source has it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as messages from "#controller/status/messages.ts";
import { formatProblem } from "#pullsecret/problems/problems.ts";
import { planted, tokens } from "#pullsecret/tokens.fixture.ts";
import { accept } from "./accept.ts";
import { policy, secret, sources } from "./accept.fixture.ts";

for (const token of tokens)
  test(`never reports the token ${token.slice(0, 12)} of a source`, () => {
    const { documents, secrets } = planted(token);
    let reported = 0;
    for (const document of documents)
      for (const protect of [[], ["0.io"], [`robot:${token}@z.io`]]) {
        const pullSecret = secret(document);
        const sourceSet = sources({
          additional: pullSecret,
          original: pullSecret,
          originalName: "kube-system/pull-secret",
          extras: { team: pullSecret },
        });
        const verdict = accept(sourceSet, { ...policy, protect });
        const { problems, warnings, sources: each, registries } = verdict;
        const text = JSON.stringify([
          messages.rejected(problems.additional, false, "1"),
          messages.originalRejected(problems.original, "1"),
          messages.warned(warnings, "1"),
          each,
          each.map(messages.sourceRejected),
          registries,
          [...problems.additional, ...problems.original, ...warnings].map(formatProblem),
        ]);
        reported += warnings.length + problems.additional.length;
        for (const credential of secrets) assert.ok(!text.includes(credential), text);
      }
    assert.ok(reported > 20, `${reported} problems`);
  });

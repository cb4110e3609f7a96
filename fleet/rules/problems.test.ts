import assert from "node:assert/strict";
import { test } from "node:test";
import { isLasting, sentence, type catalogue } from "./problems.ts";

/** Reasons why a cluster cannot be reached, and whether only an administrator can end them. */
const reasons: Partial<Record<keyof typeof catalogue, boolean>> = {
  kubeconfig: true,
  denied: true,
  noProvider: true,
  provider: true,
  noKubeconfig: false,
  noProfile: false,
  noCredential: false,
  unreachable: false,
};
for (const [kind, lasts] of Object.entries(reasons))
  test(`shows that a cluster ${lasts ? "needs an administrator" : "might return"} after ${kind}`, () =>
    assert.equal(isLasting(sentence(kind as keyof typeof catalogue, "x")), lasts));

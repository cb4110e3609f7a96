import assert from "node:assert/strict";
import { test } from "node:test";
import { agent } from "#controller/objects/agent.fixture.ts";
import { daemonSet } from "#controller/objects/daemonset.ts";
import { noState, stateSecret } from "#controller/objects/state.ts";
import { secretKeys, servedKeys } from "#contract/names.ts";
import { keptDirectory } from "./observe.ts";

const old = "/var/lib/kubelet";

function secret(intent: string, served: number) {
  const data = { [secretKeys.revision]: "3", [secretKeys.intent]: intent };
  return Object.fromEntries(
    Object.entries({ ...data, [servedKeys.revision]: String(served) }).map(([key, value]) => [
      key,
      Buffer.from(value).toString("base64"),
    ]),
  );
}

test("keeps the agents' directory while entries may be in force there", () => {
  const live = daemonSet({ ...agent, kubeletDirectory: old });
  const rows: readonly (readonly [
    what: string,
    intent: string,
    served: number,
    word: boolean,
    kept: boolean,
  ])[] = [
    ["no node has proved the content", "apply", 0, false, false],
    ["the canary has proved the content", "apply", 0, true, true],
    ["the content is served", "apply", 3, false, true],
    ["a withdrawal is under way", "release", 0, false, true],
  ];
  for (const [what, intent, served, word, kept] of rows) {
    const global = { data: secret(intent, served) };
    const state = stateSecret({ ...noState, rollout: { revision: 3, word } });
    const snapshot = { daemonSet: live, global, state };
    assert.equal(keptDirectory(snapshot, "/data/kubelet"), kept ? old : undefined, what);
    assert.equal(keptDirectory(snapshot, old), undefined, what);
    assert.equal(keptDirectory({ ...snapshot, daemonSet: undefined }, "/data/kubelet"), undefined);
    assert.equal(keptDirectory({ ...snapshot, global: undefined }, "/data/kubelet"), undefined);
  }
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { withWord } from "./kwok.ts";

test("a fake agent has said that it gave back, of its pod's own revision", () => {
  const stage = "    containerStatuses:\n    - name: x\n      ready: true\n      restartCount: 0\n";
  const lines = withWord(stage).split("\n");
  assert.deepEqual(lines.slice(2, 6), [
    "      ready: true",
    '      {{ if eq .name "agent" }}',
    "      lastState:",
    "        terminated:",
  ]);
  assert.match(
    withWord(stage),
    /\(revision \{\{ index \$\.metadata\.annotations "globalpullsecret.io\/revision" \}\}\)/,
  );
  assert.throws(() => withWord("other"), /not as it was/);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { sealVerdicts } from "./verdict.ts";

const until = "2126-01-01T00:00:00.000Z";

/**
 * In each case: the certificate and the run that the index lists for the file, whether the file
 * exists, the cluster's present certificate, and the expected state. The state is undefined if the
 * cluster should not be listed.
 */
const cases = [
  ["a", "last", true, "a", "current"],
  ["a", "last", true, "b", "old"],
  ["a", "last", true, undefined, "left over"],
  ["a", "last", false, "a", "missing"],
  ["a", "last", false, undefined, undefined],
  ["a", "former", true, "a", "behind"],
  ["a", "former", true, "b", "behind"],
  ["a", "former", true, undefined, "left over"],
  ["a", "former", false, "a", "missing"],
  [undefined, "last", true, "a", "missing"],
  [undefined, "last", true, undefined, "left over"],
  [undefined, "last", false, "a", "missing"],
] as const;
for (const [certificate, sealing, file, present, state] of cases)
  test(`reports ${state ?? "nothing"} for ${file ? "a" : "no"} file, sealed with certificate ${certificate ?? "unknown"} by the run ${sealing}, if the certificate is now ${present ?? "unknown"}`, () => {
    const index = {
      namespace: "kube-system",
      name: "regcred",
      scope: "strict",
      sealing: "last",
      clusters:
        certificate === undefined ? {} : { east: { fingerprint: certificate, until, sealing } },
    } as const;
    const certificates = present === undefined ? {} : { east: { fingerprint: present } };
    assert.deepEqual(
      sealVerdicts(index, new Set(file ? ["east"] : []), certificates).map(
        (verdict) => verdict.state,
      ),
      state === undefined ? [] : [state],
    );
  });

test("when the cluster's certificate is unknown, lists a file as behind only if the last run did not write it", () => {
  const sealed = (sealing: string) => ({ fingerprint: "a", until, sealing });
  const clusters = { east: sealed("last"), west: sealed("former") };
  const index = {
    namespace: "kube-system",
    name: "regcred",
    scope: "strict",
    sealing: "last",
    clusters,
  } as const;
  const names = new Set(["east", "west"]);
  assert.deepEqual(
    sealVerdicts(index, names, {}, names).map(({ state }) => state),
    ["unknown", "behind"],
  );
});

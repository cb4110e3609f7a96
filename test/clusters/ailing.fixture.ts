/** The status of a joined cluster whose etcd is down, or whose token has expired. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { clustersNamespace } from "#contract/joined.ts";
import { until } from "../cluster/await.ts";
import { profileIn, setTokenTimes, untilCondition, type Rig } from "./clusters.ts";

const its = ["east", "-n", clustersNamespace];

export function ailing(on: () => Rig): void {
  /**
   * Changes a label of the profile, because after any change of a profile the controller observes
   * the cluster again.
   */
  const look = (why: string) =>
    on().home.cluster.kubectl("label", "clusterprofile", ...its, "--overwrite", `look=${why}`);
  const untilReported = async (type: string, status: string, pattern?: RegExp) =>
    await untilCondition(on().home.cluster, "east", [type, status], pattern);

  test("M2: reports a cluster as joined, but not ready, while its etcd is down", async () => {
    const { home, east } = on();
    await east.stopEtcd();
    try {
      // The API server keeps the result of its last check of etcd for a moment.
      await until("/readyz does not answer ok", async () =>
        east.kubectl("get", "--raw=/readyz").then(
          () => false,
          () => true,
        ),
      );
      await look("etcd-is-gone");
      await untilReported("ControlPlaneHealthy", "False", /^\/readyz did not answer ok$/);
      const { conditions = [] } = (await profileIn(home.cluster, "east"))?.status ?? {};
      assert.deepEqual(
        conditions.map(({ status, reason }) => `${status} ${reason}`),
        ["True TokenAccepted", "False NotReady", "Unknown NotAsked"],
      );
    } finally {
      await east.startEtcd();
    }
    await look("etcd-is-back");
    for (const type of ["ControlPlaneHealthy", "Joined", "AccountGuarded"])
      await untilReported(type, "True");
  });

  test("M2: reports an expired token, with the command that joins again", async () => {
    const { person, home, east } = on();
    await setTokenTimes(home.cluster, ["east", east], {
      issued: Date.parse("2026-01-01T00:00:00Z"),
      expires: Date.parse("2026-01-31T00:00:00Z"),
    });
    await look("token-has-run-out");
    const again = "join it again: kubectl pull-secret fleet join east --context admin@east";
    await untilReported(
      "Joined",
      "False",
      new RegExp(`^The API server refuses the token; ${again}$`),
    );
    const { out } = await person.plugin("fleet list");
    assert.match(
      out,
      new RegExp(`^ *east +False .*The API server refuses the token; ${again}$`, "m"),
    );
    await person.ok("fleet join east --context admin@east");
    await untilReported("Joined", "True");
  });
}

/** The fleet controller as pods of the management cluster, installed by the chart. */
import assert from "node:assert/strict";
import { document, pullSecret } from "#test/controller/plane.ts";
import * as fleet from "#test/fleet/fleet.ts";
import { longTest } from "#test/sample.ts";
import { chart, helmOn } from "#test/install/helm.ts";
import { imageValues, type BothClusters } from "./rig.ts";

export function fleetByChart(on: () => BothClusters): void {
  longTest(
    "K1, K8: delivers a Secret to a cluster from pods of the chart's role Fleet, and leaves the CRD on uninstall",
    async () => {
      const { management, guest, image } = on();
      const home = fleet.homeOf(management);
      const guestCluster = await fleet.guestOf(guest);
      await fleet.declareGuest(home, "guest-a", guestCluster.kubeconfig, fleet.labelled);
      const install = ["install", "fleet", chart, "--set=role=Fleet", "--wait"];
      await helmOn(management, ...install, ...imageValues(image));
      const brought = document({ "a.example": "fleet:1" });
      await management.apply(pullSecret("source-pull-secret", brought), fleet.fleetSecret());
      await fleet.untilPlaced(guestCluster, { ".dockerconfigjson": btoa(brought) });
      await fleet.untilState(home, "guest-a", "Done");
      const object = ["fleetsecret", "pull-secret", "-n", "kube-system", "--timeout=60s"];
      await management.kubectl("delete", ...object);
      assert.equal(await fleet.targetIn(guestCluster), undefined);
      await helmOn(management, "uninstall", "fleet", "--wait");
      const kinds = "deployments,roles,rolebindings,clusterroles,clusterrolebindings,leases,crds";
      const remaining = (await management.kubectl("get", kinds, "-A", "-o", "name")).split("\n");
      assert.deepEqual(
        remaining.filter((name) => /pull-?secret/.test(name)),
        ["customresourcedefinition.apiextensions.k8s.io/fleetsecrets.globalpullsecret.io"],
      );
    },
  );
}

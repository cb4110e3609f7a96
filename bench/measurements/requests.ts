/** The requests of a rotation to the API server, from its audit log. */
import { setTimeout as sleep } from "node:timers/promises";
import { auditEnd, type AuditedRequest } from "#test/cluster/audit.ts";
import { controllersSince, reportsSince } from "../observe/audit.ts";
import type { Measurement } from "../result/bench.ts";
import { calm, change } from "../testbed/change.ts";
import { measure } from "../result/result.ts";

export const requests: Measurement = {
  name: "requests",
  run: async (bench) => {
    const testbed = await bench.real(3);
    await testbed.install(1);
    await change(testbed);
    const counts: Readonly<{ writes: number; nodes: number }>[] = [];
    for (let round = 0; round < (bench.quick ? 1 : 5); round += 1) {
      await calm();
      const mark = auditEnd(testbed.cluster);
      await change(testbed);
      await sleep(2000); // the controller still writes status after the last node is done
      const all = controllersSince(testbed.cluster, mark);
      counts.push({
        writes: Math.max(
          all.filter(isPatch).length / testbed.nodes.length,
          reportsSince(testbed.cluster, mark) / testbed.nodes.length,
          mostInASecond(all.filter(({ subresource }) => subresource === "status")),
        ),
        nodes: all.filter(({ resource }) => resource === "nodes").length,
      });
    }
    const row = (what: string, key: "writes" | "nodes", atMost: number) =>
      measure(
        { name: `three nodes one at a time, ${what}`, unit: "requests", atMost },
        counts.map((count) => count[key]),
      );
    return [
      row("orders and reports of a node, or status writes in a second: the most", "writes", 1),
      row("reads of Nodes", "nodes", 0),
    ];
  },
};

const isPatch = ({ resource, subresource, verb }: AuditedRequest): boolean =>
  resource === "nodepullsecrets" && subresource === "" && verb === "patch";

/** The highest number of requests that begin within one second. */
function mostInASecond(all: readonly AuditedRequest[]): number {
  const times = all.map(({ at }) => Date.parse(at));
  return Math.max(
    0,
    ...times.map((from) => times.filter((at) => at >= from && at < from + 1000).length),
  );
}

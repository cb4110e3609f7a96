/** Tests of changes and withdrawals in clusters whose nodes are replaced at a constant rate. */
import assert from "node:assert/strict";
import { pass, servedCluster, until } from "./cluster.ts";
import { missing } from "./laws.ts";

/** Seconds until a change must have begun on a first node, and until it must be complete. */
const bounds = { begins: 10, ends: 300 };

type Row = Readonly<{
  nodes: number;
  churn: number;
}>;

/** In each row the budget is a tenth of the nodes, and a node is Ready 45 s after it has joined. */
export function churnTable(rows: readonly Row[]): void {
  const driver = { rewrite: {} };
  for (const { nodes, churn } of rows)
    for (const isWithdrawal of [false, true]) {
      const w = servedCluster({ seed: nodes, nodes, budget: Math.ceil(nodes / 10), churn });
      // The model adds 1 to 4 s for the container's start, and about 8 s for the kubelet's restart:
      // 45 s in total.
      w.startDelay = 35;
      // Nodes of lost machines are deleted within a minute. Nodes that stay longer would keep old
      // content.
      w.linger = 1;
      pass(w, driver, 100);
      if (isWithdrawal) w.api.b = 0;
      w.api.a = isWithdrawal ? 0 : 200;
      w.truth.allowed += 1;
      const hasBegun = (): boolean =>
        [...w.api.pods.values()].some(({ grant }) => grant !== null && grant.rev > 3);
      const begins = until(w, driver, bounds.begins, hasBegun);
      const ends = until(w, driver, bounds.ends, () => missing(w) === "");
      const row = `${nodes} nodes, ${churn}/h, ${isWithdrawal ? "withdrawal" : "change"}`;
      assert.ok(begins <= bounds.begins, `${row}: has not begun`);
      assert.ok(ends <= bounds.ends, `${row}: has not ended: ${missing(w)}`);
    }
}

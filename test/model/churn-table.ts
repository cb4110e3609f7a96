/** Changes and withdrawals in clusters whose nodes are replaced all the time. */
import assert from "node:assert/strict";
import { pass, servedCluster, until } from "./cluster.ts";
import { missing } from "./laws.ts";

/** Seconds after which a change must have begun on a first node, and must be complete. */
const bounds = { begins: 10, ends: 300 };

type Row = Readonly<{
  nodes: number;
  /** How often a node is replaced in an hour. */
  churn: number;
}>;

/** With a budget of a tenth, and nodes that are Ready 45 s after they joined. */
export function churnTable(rows: readonly Row[]): void {
  const driver = { isLockstep: false, rewrite: {} };
  for (const { nodes, churn } of rows)
    for (const isWithdrawal of [false, true]) {
      const w = servedCluster({ seed: nodes, nodes, budget: Math.ceil(nodes / 10), churn });
      // In addition: 1 to 4 s for the container, and about 8 s for the kubelet's restart.
      w.startDelay = 35;
      // Nodes of machines that left are deleted within a minute. A Node that stays has old content.
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

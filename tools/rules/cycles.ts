/** Cycles in a graph. */

/**
 * Finds one cycle for each edge that closes a cycle, as a list of names; empty if there are no
 * cycles. The graph can leave out names without edges.
 */
export function cyclesIn(graph: ReadonlyMap<string, readonly string[]>): readonly string[][] {
  const cycles: string[][] = [];
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (name: string): void => {
    const at = path.indexOf(name);
    if (at >= 0) cycles.push([...path.slice(at), name]);
    if (at >= 0 || done.has(name)) return;
    path.push(name);
    for (const next of graph.get(name) ?? []) visit(next);
    path.pop();
    done.add(name);
  };
  for (const name of graph.keys()) visit(name);
  return cycles;
}

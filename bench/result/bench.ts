/** The inputs of a measurement, and what it returns. */
import type { Testbed } from "../testbed/testbed.ts";
import type { BenchResult } from "./result.ts";
import type { Simulated } from "../simulated/simulated.ts";

export interface Bench {
  readonly quick: boolean;
  /**
   * The real cluster with at least this many nodes. The product runs there with its default budget,
   * and serves a Secret. The first call starts the cluster.
   */
  real(nodes: number): Promise<Testbed>;
  /** A simulated cluster with exactly this many nodes. Ends the real cluster first. */
  simulated(nodes: number): Promise<Simulated>;
}

export type Measurement = Readonly<{
  name: string;
  run: (bench: Bench) => Promise<readonly BenchResult[]>;
}>;

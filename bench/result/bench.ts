/** The inputs of a measurement, and its result. */
import type { Testbed } from "../testbed/testbed.ts";
import type { BenchResult } from "./result.ts";
import type { Simulated } from "../simulated/simulated.ts";

export interface Bench {
  readonly quick: boolean;
  /**
   * The real cluster with at least this many nodes, and the product in force with its own budget;
   * started when first needed.
   */
  real(nodes: number): Promise<Testbed>;
  /** A simulated cluster with exactly this many nodes; the real one is ended first. */
  simulated(nodes: number): Promise<Simulated>;
  /** Does something once for several measurements. */
  once<T>(key: string, make: () => Promise<T>): Promise<T>;
  /** A picture beside docs/inside/performance.md, written with its table. */
  picture(name: string, svg: string): void;
}

export type Measurement = Readonly<{
  name: string;
  run: (bench: Bench) => Promise<readonly BenchResult[]>;
}>;

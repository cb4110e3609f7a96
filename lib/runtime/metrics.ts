/** The metrics of a program. No other file imports the Prometheus client. */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";

/** All our metrics have this prefix. */
const prefix = "global_pull_secret_";

/** The metrics of one process: the registry that `/metrics` shows, and what adds metrics to it. */
export type Meters = ReturnType<typeof openMeters>;

export function openMeters() {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const described = <Label extends string>(
    name: string,
    help: string,
    labels: readonly Label[],
  ) => ({
    name: prefix + name,
    help,
    labelNames: [...labels],
    registers: [registry],
  });
  return {
    registry,
    counter: <Label extends string = never>(
      name: string,
      help: string,
      labels: readonly Label[] = [],
    ) => new Counter<Label>(described(name, help, labels)),
    gauge: <Label extends string = never>(
      name: string,
      help: string,
      labels: readonly Label[] = [],
    ) => new Gauge<Label>(described(name, help, labels)),
    /** Durations in seconds. */
    durations: <Label extends string = never>(
      name: string,
      help: string,
      labels: readonly Label[] = [],
    ) =>
      new Histogram<Label>({
        ...described(name, help, labels),
        buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 30],
      }),
  };
}

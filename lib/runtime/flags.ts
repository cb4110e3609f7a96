/** The flags that every program with a Lease has. */
import type { Table } from "#contract/table.ts";
import { address, oneOf, text } from "#contract/values.ts";

export const common = {
  kubeconfig: { read: text, what: "kubeconfig (KUBECONFIG, or the pod's own account)" },
  listen: {
    read: address,
    standard: ":8080",
    what: "where /healthz, /readyz and /metrics are served",
  },
  "log-level": {
    read: oneOf("trace", "debug", "info", "warn", "error"),
    standard: "info",
    what: "least severe log line: trace, debug, info, warn or error",
  },
} as const satisfies Table;

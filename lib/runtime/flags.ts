/** The command line of a program with a Lease. */
import { readFlags } from "#contract/flags.ts";
import { usage, type Table } from "#contract/table.ts";
import { address, oneOf, text, Wrong } from "#contract/values.ts";
import { quote } from "#pullsecret/problems/keypath.ts";

/** The flags that every such program has. */
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

/** What `--help` prints, and what reads the flags. `title`: what the program does. */
export const commandLine = <const Rows extends Table>(title: string, flags: Rows) => ({
  usage: () => `${title}\n${usage(flags)}`,
  parse: (argv: readonly string[]) => readFlags(flags, { argv, quote }),
});

export const isNamespace = (name: string): boolean =>
  /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name);

/** Reads the name of a namespace. */
export const namespaceLike =
  (example: string) =>
  (value: string): string | Wrong =>
    isNamespace(value) ? value : new Wrong(`is not a valid namespace name (example: ${example})`);

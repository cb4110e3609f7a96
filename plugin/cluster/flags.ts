/**
 * The flags of every command that reaches a cluster. They have the same names as kubectl's flags.
 */
import { namespace } from "#contract/names.ts";
import type { Table } from "#contract/table.ts";
import { duration, oneOf, text, Wrong } from "#contract/values.ts";
import type { Reach } from "../terminal/io.ts";

/** Seconds that we use instead of kubectl's "no limit". None of our requests takes longer. */
const noLimit = 3600;

/** Reads a duration. As in kubectl, a number without a unit means seconds, and 0 means no limit. */
function requestTimeout(value: string): number | Wrong {
  if (/^0s?$/.test(value)) return noLimit;
  return duration(/^\d+$/.test(value) ? `${value}s` : value);
}

/**
 * Accepts -n kube-system, because many shell aliases contain it. For any other namespace, the error
 * explains why we refuse it.
 */
function onlyNamespace(value: string): string | undefined | Wrong {
  if (value === "" || value === namespace) return undefined;
  return new Wrong(`is not valid: all Secrets and pods are in ${namespace}; leave out -n`);
}

export const clusterFlags = {
  kubeconfig: { read: text, what: "the kubeconfig file, instead of KUBECONFIG's" },
  context: { read: text, what: "the kubeconfig's context, instead of its current one" },
  "request-timeout": {
    read: requestTimeout,
    standard: "30s",
    what: "how long an answer of the API server may take; 0 for no limit",
  },
  as: { read: text, what: "the user to impersonate" },
  "as-group": { read: text, repeated: true, what: "a group to impersonate, beside --as" },
  cluster: { read: text, what: "the name of the kubeconfig cluster to use" },
  user: { read: text, what: "the name of the kubeconfig user to use" },
  namespace: {
    read: onlyNamespace,
    short: "n",
    what: `${namespace}, the only valid value`,
  },
} as const satisfies Table;

/** Flags of the commands that write to a cluster. */
export const dryRunFlag = {
  "dry-run": {
    read: oneOf("none", "server"),
    standard: "none",
    what: "server: the API server validates the change, and stores nothing",
  },
} as const;

/** The text that kubectl adds to a line of output after a dry run. */
export const dryRunNote = ({ "dry-run": how }: Reach): string =>
  how === "server" ? " (server dry run)" : "";

/** How long a command waits before it gives up with exit code 3. */
export function timeoutFlag<const Standard extends string>(standard: Standard) {
  const what = "how long to wait; then the exit code is 3";
  return { timeout: { read: duration, standard, what } } as const;
}

/** The name of the source that a command edits or checks. The default is additional-pull-secret. */
export const sourceFlag = {
  source: { read: text, what: "a name of spec.sources, instead of additional-pull-secret" },
} as const;

/** The line that suggests the command `wait` after the edit of a source. */
export function waitFor(source: string | undefined, deleted = false): string {
  const which = source === undefined ? "" : ` --source ${source}`;
  return `next: kubectl pull-secret wait${which}${deleted ? " --deleted" : ""}`;
}

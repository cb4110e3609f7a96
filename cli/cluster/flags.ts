/** The flags of every command that reaches a cluster, named as kubectl names them. */
import type { Table } from "#contract/table.ts";
import { duration, text, Wrong } from "#contract/values.ts";

/** No request of ours takes longer: what kubectl calls no limit. */
const noLimit = 3600;

/** Seconds; as kubectl, also a plain number of them, and 0 for no limit. */
function requestTimeout(value: string): number | Wrong {
  if (/^0s?$/.test(value)) return noLimit;
  return duration(/^\d+$/.test(value) ? `${value}s` : value);
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
} as const satisfies Table;

/** How long a command waits before it ends with 3, not yet. */
export function timeoutFlag<const Standard extends string>(standard: Standard) {
  const what = "how long to wait; then the exit code is 3";
  return { timeout: { read: duration, standard, what } } as const;
}

/** One of the sources by name; additional-pull-secret unless it is given. */
export const sourceFlag = {
  source: { read: text, what: "a name of spec.sources, instead of additional-pull-secret" },
} as const;

/** What to run after a source was edited. */
export function waitFor(source: string | undefined): string {
  const which = source === undefined ? "" : ` --source ${source}`;
  return `next: kubectl pull-secret wait${which}`;
}

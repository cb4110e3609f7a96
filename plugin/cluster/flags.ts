/**
 * The flags of every command that reaches a cluster. They have the same names as kubectl's flags.
 */
import { namespace } from "#contract/names.ts";
import type { Table } from "#contract/table.ts";
import { duration, text, Wrong } from "#contract/values.ts";

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
  namespace: {
    read: onlyNamespace,
    short: "n",
    what: `${namespace}, the only valid value`,
  },
} as const satisfies Table;

/** How long a command waits before it gives up with exit code 3. */
export function timeoutFlag<const Standard extends string>(standard: Standard) {
  const what = "how long to wait";
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

/** The right to read a source: what grants it, as a line that can be run. */
import { namespace } from "#contract/names.ts";

/** As manifests/base/serviceaccount.yaml names it. */
const account = "global-pull-secret-controller";

/**
 * The command that lets the controller read and watch this one Secret and no other. RBAC is by name
 * on purpose: whoever edits GlobalPullSecret must not gain the right to read any Secret.
 */
export function grantFor(secretName: string): string {
  const role = `global-pull-secret-source-${secretName}`;
  const secrets = `--verb=get,list,watch --resource=secrets --resource-name=${secretName}`;
  return [
    `kubectl create role ${role} -n ${namespace} ${secrets}`,
    `kubectl create rolebinding ${role} -n ${namespace} --role=${role} --serviceaccount=${namespace}:${account}`,
  ].join(" && ");
}

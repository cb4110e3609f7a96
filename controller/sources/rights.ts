/** The right to read a source, as a command that grants it. */
import { namespace } from "#contract/names.ts";

/** The controller's ServiceAccount, as in manifests/base/serviceaccount.yaml. */
const account = "global-pull-secret-controller";

/**
 * The command that lets the controller read and watch this one Secret and no other. The right is by
 * name on purpose: whoever edits GlobalPullSecret must not gain the right to read any Secret.
 */
export function grantFor(secretName: string): string {
  const role = `global-pull-secret-source-${secretName}`;
  const secrets = `--verb=get,list,watch --resource=secrets --resource-name=${secretName}`;
  return [
    `kubectl create role ${role} -n ${namespace} ${secrets}`,
    `kubectl create rolebinding ${role} -n ${namespace} --role=${role} --serviceaccount=${namespace}:${account}`,
  ].join(" && ");
}

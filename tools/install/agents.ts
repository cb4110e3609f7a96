/** The agents' objects that `preflight` tries in a dry run, as the controller declares them. */
import type { Agent } from "#controller/objects/agent.ts";
import { daemonSet, serviceAccount } from "#controller/objects/daemonset.ts";
import { parseConfig } from "#controller/policy/config.ts";
import { deliveryOf } from "#controller/policy/policy.ts";
import { policyOf } from "#controller/policy/spec.ts";

/** JSON for the plugin, which cannot import the controller. Texts in capitals are placeholders. */
export function agentsJson(): string {
  const parsed = parseConfig([]);
  const result = parsed.ok && policyOf(parsed.value.installed, {});
  if (result === false || !result.ok) throw new Error("the defaults are refused");
  const agent: Agent = {
    ...result.policy.agent,
    probationSeconds: result.policy.rollout.probationSeconds,
    image: "IMAGE",
    imagePullSecrets: [],
    kubeletDirectory: "KUBELET-DIRECTORY",
    seLinuxType: "SELINUX-TYPE",
  };
  const inMode = (mode: "Restart" | "Reread") =>
    daemonSet({ ...agent, delivery: deliveryOf({ mode }, mode) }, 1);
  const flags = {
    kubeletDirectory: result.policy.agent.kubeletDirectory,
    selinuxType: result.policy.agent.seLinuxType,
  };
  const daemonSets = { Restart: inMode("Restart"), Reread: inMode("Reread") };
  return `${JSON.stringify({ flags, serviceAccount, daemonSets }, undefined, 2)}\n`;
}

/** A node that kubeadm set up, for agents that register their provider there. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { kubeadmFlagsFile, providerFiles, scopes } from "#contract/names.ts";
import { script } from "#pullsecret/provider/answer.ts";
import { judgeConfig } from "#pullsecret/provider/config.ts";
import { flagsIn } from "#pullsecret/provider/flags.ts";
import { AgentPlace } from "./place.ts";
import { comesBack } from "../harness/agent/scripted-systemd.ts";

export const registering = ["--delivery=CredentialProvider", "--registration=Agent"];
/** What kubeadm's file holds before an agent comes. */
export const given = 'KUBELET_KUBEADM_ARGS="--v=2"\n';

export const envOf = ({ node }: AgentPlace) => join(node.kubelet, kubeadmFlagsFile);

/** Whether kubeadm's file has our flags. */
export const isTold = (place: AgentPlace) => flagsIn(readFileSync(envOf(place), "utf8")) === "with";

/** Each kubelet is started with what kubeadm's file says then, and only if it can be with that. */
export function reads(place: AgentPlace): void {
  const { systemd } = place;
  systemd.startLimitMicros = 100_000n;
  systemd.fate = () => ({ ...comesBack, takes: 500 });
  systemd.commandOf = () => {
    if (isTold(place)) assertStarts(place);
    return `kubelet ${/"(.*)"/.exec(readFileSync(envOf(place), "utf8"))?.[1]}`;
  };
}

/** What the flags name is as a kubelet needs it: without one of them it exits at its start. */
function assertStarts({ node }: AgentPlace): void {
  const [program, config] = [providerFiles.script, providerFiles.config].map((name) => {
    assert.ok(existsSync(join(node.kubelet, name)), `${name} is missing at a start`);
    return readFileSync(join(node.kubelet, name));
  });
  assert.equal(program?.toString(), script);
  assert.ok(config && scopes.some((scope) => judgeConfig(config, scope).ok), config?.toString());
}

/** `flags`: of its agents. */
export async function kubeadmPlace(flags: readonly string[] = registering): Promise<AgentPlace> {
  const place = await AgentPlace.make();
  place.node.flags = flags;
  writeFileSync(envOf(place), given);
  reads(place);
  return place;
}

export const options = ({ systemd }: AgentPlace, revision = 1) => ({
  revision,
  healthzPort: systemd.healthzPort,
});

/**
 * A kubelet that the agent gave arguments to, and whose others win, or which does not start with
 * them any more, by a scripted systemd.
 */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { kubeadmFlagsFile } from "#contract/names.ts";
import { toldOf } from "#pullsecret/provider/flags.ts";
import { AgentProcess } from "../harness/agent/agent.ts";
import { AgentPlace } from "./place.ts";
import { comesBack, crashes } from "../harness/agent/scripted-systemd.ts";

test("H18: where somebody else's arguments win over ours, ours are taken back, and the agent says so", async () => {
  await using place = await AgentPlace.make();
  const { node, systemd } = place;
  const env = join(node.kubelet, kubeadmFlagsFile);
  const given = 'KUBELET_KUBEADM_ARGS="--v=1"\n';
  writeFileSync(env, given);
  node.flags = ["--delivery=CredentialProvider", "--registration=Agent"];
  let others = "";
  systemd.commandOf = () => `kubelet ${/"(.*)"/.exec(readFileSync(env, "utf8"))?.[1]}${others}`;
  systemd.started();
  others = " --image-credential-provider-bin-dir=/root/other";
  await using agent = await AgentProcess.start(node, {
    revision: 1,
    healthzPort: systemd.healthzPort,
  });
  assert.equal(await agent.ended(), 1);
  assert.match(node.message, /^GPS218 /);
  assert.equal(readFileSync(env, "utf8"), given);
  // The registration's, and the rollback's.
  assert.equal(systemd.restartCalls, 2);
});

test("H18: a kubelet that another version replaced, and that does not start with our flags, loses them and starts", async () => {
  await using place = await AgentPlace.make();
  const { node, systemd } = place;
  const env = join(node.kubelet, kubeadmFlagsFile);
  const given = 'KUBELET_KUBEADM_ARGS="--v=1"\n';
  writeFileSync(env, given);
  node.flags = ["--delivery=CredentialProvider", "--registration=Agent"];
  systemd.startLimitMicros = 100_000n;
  systemd.commandOf = () => `kubelet ${/"(.*)"/.exec(readFileSync(env, "utf8"))?.[1]}`;
  {
    await using agent = await AgentProcess.start(node, {
      revision: 1,
      healthzPort: systemd.healthzPort,
    });
    await agent.shows(200, "GPS200");
  }
  assert.equal(toldOf(systemd.command), "ours");
  assert.equal(systemd.restartCalls, 1);
  systemd.fate = () => (toldOf(systemd.commandOf()) === "ours" ? crashes : comesBack);
  systemd.died();
  systemd.restarts = 3;
  await using agent = await AgentProcess.start(node, {
    revision: 1,
    healthzPort: systemd.healthzPort,
  });
  // A minute of its own, so that nobody's restart is taken for a failure.
  assert.equal(await agent.ended(), 1, agent.output);
  assert.match(node.message, /^GPS218 /);
  assert.equal(readFileSync(env, "utf8"), given);
  assert.equal(systemd.active, "active");
  assert.equal(systemd.restartCalls, 2);
});

/** A kubelet whose other arguments win over those that the agent gave it, by a scripted systemd. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { kubeadmFlagsFile } from "#contract/names.ts";
import { Agent } from "./agent.ts";
import { Place } from "./place.ts";

test("H18: where somebody else's arguments win over ours, ours are taken back, and the agent says so", async () => {
  await using place = await Place.make();
  const { node, systemd } = place;
  const env = join(node.kubelet, kubeadmFlagsFile);
  const given = 'KUBELET_KUBEADM_ARGS="--v=1"\n';
  writeFileSync(env, given);
  node.flags = ["--delivery=CredentialProvider", "--registration=Agent"];
  let others = "";
  systemd.commandOf = () => `kubelet ${/"(.*)"/.exec(readFileSync(env, "utf8"))?.[1]}${others}`;
  systemd.started();
  others = " --image-credential-provider-bin-dir=/root/other";
  await using agent = await Agent.start(node, { revision: 1, healthzPort: systemd.healthzPort });
  assert.equal(await agent.ended(), 1);
  assert.match(node.message, /^GPS218 /);
  assert.equal(readFileSync(env, "utf8"), given);
  // The registration's, and the rollback's.
  assert.equal(systemd.restartCalls, 2);
});

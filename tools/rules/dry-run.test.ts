/** The dry run of `preflight` creates agents as the controller does. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { agent } from "#controller/objects/agent.fixture.ts";
import { daemonSet } from "#controller/objects/daemonset.ts";
import { agentPod } from "#plugin/cluster/dry-run.ts";

test("preflight's dry run has everything of the agents' pod that an admission can refuse", () => {
  const pod = agentPod(agent.image);
  const { spec } = daemonSet(agent, 1).spec?.template ?? {};
  assert.ok(spec);
  for (const [name, value] of Object.entries(pod))
    if (!["containers", "volumes"].includes(name))
      assert.deepEqual(spec[name as keyof typeof spec], value, name);
  const [container, real] = [pod.containers[0], spec.containers[0]];
  assert.deepEqual(container?.securityContext, real?.securityContext);
  assert.deepEqual(container?.resources, real?.resources);
  const onHost = ({ volumes = [] }: typeof pod) => volumes.filter(({ hostPath }) => hostPath);
  assert.deepEqual(onHost(pod), onHost(spec));
});

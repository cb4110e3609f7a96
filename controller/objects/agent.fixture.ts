/** For tests: agents with the default settings. */
import { policyWith } from "#controller/policy/policy.fixture.ts";
import type { Agent } from "./agent.ts";

const { agent: declared, rollout } = policyWith();

export const agent: Agent = {
  ...declared,
  image: "example.invalid/agent:1",
  imagePullSecrets: [],
  probationSeconds: rollout.probationSeconds,
};

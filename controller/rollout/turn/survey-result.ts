/**
 * What a survey keeps of each node: so little that 5,000 nodes cost memory for their names only.
 */
import type { registrations } from "#contract/names.ts";

/** An agent's pod, as its node's kubelet last reported it. */
export type AgentPod = Readonly<{
  /** Made from the DaemonSet's present template. */
  current: boolean;
  /** Ready for longer than a false Ready lasts. */
  available: boolean;
  /** Its container is running. */
  running: boolean;
  /** Its container has run at least once, so it may have touched the node. */
  started: boolean;
  /**
   * It cannot be why its node fell silent: it was well for long enough before, or is at revision 0,
   * which touches nothing.
   */
  proved: boolean;
  ageSeconds: number;
  /** How long it has been unavailable, as far as its pod tells; at most its age. */
  unavailableSeconds: number;
  /**
   * It rolled back and ended for that reason (exit code 1). An agent that was killed or told to
   * stop has not given up.
   */
  gaveUp: boolean;
  /**
   * Its container ended saying that everything of ours was given back, under its pod's own
   * revision.
   */
  gaveBack: boolean;
  /** It ended once, saying that the node is unfit and that nothing was touched (exit code 3). */
  refused: boolean;
  /** The agent's last words, or why its container cannot start; never a credential. */
  message: string | undefined;
  /** The registrations by which its node could have mode CredentialProvider, by what lies there. */
  prospects?: readonly (typeof registrations)[number][];
}>;

export type SurveyedNode = Readonly<{
  name: string;
  /**
   * Its kubelet does not report, or has reported the node NotReady for long while no agent runs on
   * it.
   */
  silent: boolean;
  /** How long it has been silent; 0 when it is not. */
  silentSeconds: number;
  /** How long it has had no agent's pod, as far as this process has seen; 0 when it has one. */
  podlessSeconds: number;
  /**
   * It is labelled as a control-plane node, whose kubelet may share its process with an API server.
   */
  controlPlane: boolean;
  agent: AgentPod | undefined;
}>;
export type Survey = readonly SurveyedNode[];

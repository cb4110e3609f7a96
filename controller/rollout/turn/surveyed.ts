/**
 * What a survey tells of each node: a few words, so that 5,000 nodes cost memory for their names
 * only.
 */
import type { registrations } from "#contract/names.ts";

/** An agent's pod as its node last described it. */
export type AgentPod = Readonly<{
  /** Made from the DaemonSet's present template. */
  current: boolean;
  /** Ready for longer than a false Ready lasts. */
  available: boolean;
  /** Its container runs now. */
  running: boolean;
  /** Its container has run at least once, so it may have touched the node. */
  started: boolean;
  /**
   * It was well for so long before its node fell silent, or does so little (revision 0), that it
   * cannot be the cause.
   */
  proved: boolean;
  ageSeconds: number;
  /** Since when it has not been available, as far as its pod tells: at most its age. */
  unavailableSeconds: number;
  /**
   * It rolled back and ended for that (exit code 1); one that is killed or told to stop has not
   * given up.
   */
  gaveUp: boolean;
  /**
   * Its container has ended with the word that everything of ours was given back, under its pod's
   * own revision.
   */
  gaveBack: boolean;
  /** It ended once to say that the node is unfit and that nothing was touched (exit code 3). */
  refused: boolean;
  /** The agent's last words, or why its container cannot start; never a credential. */
  message: string | undefined;
  /** The registration by which its node could have mode CredentialProvider, by what lies there. */
  prospect?: (typeof registrations)[number] | undefined;
}>;

export type SurveyedNode = Readonly<{
  name: string;
  /**
   * Its kubelet is not heard of, or has called the node not Ready for long and runs no agent
   * either.
   */
  silent: boolean;
  /** For how long; 0 when it is not. */
  silentSeconds: number;
  /**
   * For how long it has had no agent's pod at all, as far as this process has seen; 0 when it has
   * one.
   */
  podlessSeconds: number;
  /**
   * It is labelled as one of the control plane, whose kubelet may share its process with an API
   * server.
   */
  controlPlane: boolean;
  agent: AgentPod | undefined;
}>;
export type Survey = readonly SurveyedNode[];

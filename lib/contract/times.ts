/**
 * How long an agent may need for a grant. The agent waits by these times and the controller judges
 * by their sum, so an agent that is slow by design is never late.
 */
import type { DeliveryMode } from "./names.ts";

/**
 * After a rename the kubelet must have read the new file by itself. The kubelet keeps the content
 * for 300 s after the end of a reading. A reading that began just before the rename may end 5 s
 * later. If no kubelet is restarted, an agent is Ready only after this time.
 */
export const rereadSeconds = 305;

/** A started kubelet answers healthz within a second; 30 s leaves a starved node its time. */
export const answerSeconds = 30;

/** Restarts for one content. */
export const restartAttempts = 3;

/** The longest pause between two checks. */
export const spacingSeconds = 60;

/** A kubelet syncs a pod's volume within 90 s, even if no annotation of the pod changes. */
const syncSeconds = 90;

/** For a kubelet's restart, the probes before and after it, and the seconds that prove it. */
const usualSpareSeconds = 15;

/**
 * Seconds within which an agent that has a grant and its content is usually proved. An agent that
 * takes longer may wait for its content. In mode CredentialProvider config.json seldom changes.
 */
export const usualSeconds = (mode: DeliveryMode, probationSeconds: number): number =>
  usualSpareSeconds + (mode === "Reread" ? rereadSeconds : probationSeconds);

/** For checks, back-offs and writes that are spaced out because another program keeps writing. */
const spareSeconds = 60;

/**
 * Seconds within which an agent whose kubelet runs has proved a grant, or has found that it failed
 * or that the node does not support it. The sum has no time for a start or stop that hangs. Such a
 * node may fail. In mode Restart the kubelet of a control plane may be left to read its file again.
 * In the other modes the kubelet reads the file twice: first for an older grant or for an entry
 * that leaves config.json, then for this grant. In mode CredentialProvider that file changes with
 * the original, for registries without a row of matchImages, and after a change of mode.
 */
export function grantSeconds(mode: DeliveryMode, probationSeconds: number): number {
  const restarts = restartAttempts * (answerSeconds + probationSeconds + spacingSeconds);
  const change = mode === "Restart" ? Math.max(rereadSeconds, restarts) : 2 * rereadSeconds;
  return syncSeconds + change + spareSeconds;
}

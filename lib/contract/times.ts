/**
 * How long an agent may need for a grant. The agent uses these times for its waits, and the
 * controller allows their sum. So an agent that waits as designed never counts as late.
 */
import type { PublishedMode } from "./names.ts";

/**
 * Seconds after a rename until the kubelet must have read the new file by itself. The kubelet keeps
 * the content for 300 s after it has read the file. A read that began just before the rename may
 * end 5 s later. If no kubelet is restarted, an agent is Ready only after this time.
 */
export const rereadSeconds = 305;

/** A started kubelet answers healthz within a second. On an overloaded node it may need longer. */
export const answerSeconds = 30;

/** Restarts for one content. */
export const restartAttempts = 3;

/** The longest pause between two checks. */
export const spacingSeconds = 60;

/** A kubelet syncs a pod's volume within 90 s, even if no annotation of the pod changes. */
const syncSeconds = 90;

/** Seconds for a kubelet's restart, for the probes before and after it, and for its proof. */
const usualSpareSeconds = 15;

/**
 * How many seconds an agent usually needs to prove a grant, once it has the grant and its content.
 * If an agent takes longer, it may still be waiting for its content. Mode CredentialProvider gets
 * no time for the kubelet to read config.json again, because that file seldom changes in this mode.
 */
export const usualSeconds = (mode: PublishedMode, probationSeconds: number): number =>
  usualSpareSeconds + (mode === "Reread" ? rereadSeconds : probationSeconds);

/** Seconds for checks, back-offs, and pauses between writes if another program keeps writing. */
const spareSeconds = 60;

/**
 * If its kubelet runs, an agent needs at most this many seconds until it has proved a grant, or has
 * found that the grant failed or that the node does not support the grant. The sum has no time for
 * a kubelet that hangs while it starts or stops. A node with such a kubelet may fail. In mode
 * Restart, the agent may leave a unit with a control plane running, and wait until its kubelet
 * reads the file again. In the other modes the kubelet reads the file twice: first for an older
 * grant or for an entry that leaves config.json, then for this grant. In mode CredentialProvider
 * that file changes with the original, for registries without a row of matchImages, and after a
 * change of mode.
 */
export function grantSeconds(mode: PublishedMode, probationSeconds: number): number {
  const restarts = restartAttempts * (answerSeconds + probationSeconds + spacingSeconds);
  const change = mode === "Restart" ? Math.max(rereadSeconds, restarts) : 2 * rereadSeconds;
  return syncSeconds + change + spareSeconds;
}

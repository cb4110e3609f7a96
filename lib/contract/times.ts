/**
 * How long an agent is allowed to need for a grant. The agent uses these times for its waits, and
 * the controller allows their sum. So an agent that waits as designed never counts as late.
 */
import type { PublishedMode } from "./names.ts";

/**
 * Seconds after a rename until the kubelet must have read the new file by itself. The kubelet keeps
 * the content for 300 s after it has read the file. A read that began just before the rename can
 * end 5 s later. If no kubelet is restarted, an agent is Ready only after this time.
 */
export const rereadSeconds = 305;

/**
 * Seconds within which a started kubelet must answer healthz. It usually answers within a second,
 * but needs longer on an overloaded node.
 */
export const answerSeconds = 30;

/** Maximum number of kubelet restarts for one content. */
export const restartAttempts = 3;

/** The longest pause between two of the agent's restarts of a kubelet, in seconds. */
export const spacingSeconds = 60;

/** A kubelet syncs a pod's volume within 90 s, even if no annotation of the pod changes. */
const syncSeconds = 90;

/** Seconds for a kubelet's restart, the probes before and after the restart, and the proof. */
const usualSpareSeconds = 15;

/**
 * How many seconds an agent usually needs to prove a grant, once it has the grant and the grant's
 * content. If an agent takes longer, it might still be waiting for the content. For mode
 * CredentialProvider, we add no time for the kubelet to read config.json again, because config.json
 * seldom changes in this mode.
 */
export const usualSeconds = (mode: PublishedMode, probationSeconds: number): number =>
  usualSpareSeconds + (mode === "Reread" ? rereadSeconds : probationSeconds);

/**
 * Seconds for checks, for back-offs, and for pauses if another program keeps writing config.json.
 */
const spareSeconds = 60;

/**
 * The longest time, in seconds, until an agent whose kubelet runs has proved a grant, or has found
 * that the grant failed or that the node does not support the grant. The sum has no time for a
 * kubelet that hangs while it starts or stops. A node with such a kubelet can be reported as
 * failed. In mode Restart, the agent by default does not restart a systemd unit that also contains
 * a control plane. The agent then waits until the kubelet in that unit reads config.json again. In
 * the other modes, the kubelet sometimes has to read config.json twice: first for an older grant or
 * for an entry that leaves the file, then for this grant. In mode CredentialProvider, config.json
 * changes only when the original or the mode changes, and for registries that no row of matchImages
 * covers.
 */
export function grantSeconds(mode: PublishedMode, probationSeconds: number): number {
  const restarts = restartAttempts * (answerSeconds + probationSeconds + spacingSeconds);
  const change = mode === "Restart" ? Math.max(rereadSeconds, restarts) : 2 * rereadSeconds;
  return syncSeconds + change + spareSeconds;
}

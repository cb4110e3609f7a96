/** The times on which the agent's waits and the controller's patience are based. */
/**
 * Seconds after a rename until the kubelet must have read the new file by itself. The kubelet keeps
 * the content for 300 s after it has read the file. A read that began just before the rename can
 * end 5 s later. If no kubelet is restarted, an agent reports only after this time.
 */
export const rereadSeconds = 305;

/**
 * Seconds within which a started kubelet usually answers healthz. It answers within a second, but
 * needs longer on an overloaded node.
 */
const answerSeconds = 30;

/**
 * Seconds after which a kubelet that has started is reported as slow, as kubeadm does. A kubelet
 * whose healthz is off counts as working after this time.
 */
export const slowSeconds = 240;

/** After this many kubelets that died with a content, the former content goes back. */
export const restartAttempts = 3;

/** The longest pause between two of the agent's restarts of a kubelet, in seconds. */
export const spacingSeconds = 60;

/** Seconds for checks, back-offs, and the report. */
const spareSeconds = 60;

/**
 * How many seconds a node usually needs from the order to its report, in every mode: a unit that
 * has more than a kubelet is not restarted, so its kubelet rereads the file in mode Restart
 * as well. A node that needs longer is silent: it gives its place back and delays no other node.
 * Its report counts whenever it comes.
 */
export function usualSeconds(probationSeconds: number): number {
  const restarts = restartAttempts * (answerSeconds + probationSeconds + spacingSeconds);
  return spareSeconds + Math.max(rereadSeconds, restarts);
}

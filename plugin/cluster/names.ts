/** Owner of what the plugin writes, as managed fields and the audit log show it. */
export const manager = "kubectl-pull-secret";

/** Field manager of what the fleet's controller writes, and its name in audit logs. */
export const fleetManager = "global-pull-secret-fleet";

/** Owner of what the fleet's controller writes; also the name that audit logs show. */
export const fleetManager = "global-pull-secret-fleet";

/** The fleet's controller: reads the command line, and serves FleetSecrets until SIGTERM. */
import { runProgram } from "#runtime/run.ts";
import { createFleets } from "./fleets.ts";
import { fleetCommandLine } from "./flags.ts";
import { fleetManager } from "./connection.ts";

runProgram({
  manager: fleetManager,
  lease: fleetManager,
  ...fleetCommandLine,
  open: (config, around) =>
    createFleets({
      ...around,
      namespace: config["fleet-namespace"],
      clusterNamespaces: config["cluster-namespaces"],
    }),
});

/** Global Pull Secret's controller: reads the command line, serves its cluster until SIGTERM. */
import { fieldManager, leaseName } from "#kube/client/ownership.ts";
import { runProgram } from "#runtime/run.ts";
import { openController } from "./cluster.ts";
import { parseConfig } from "./policy/config.ts";
import { usage } from "./policy/flags.ts";

runProgram({
  manager: fieldManager,
  lease: leaseName,
  usage,
  parse: parseConfig,
  open: openController,
});

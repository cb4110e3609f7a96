/** Deliberate breakages of tenants' secrets. */
import { sync } from "./sync.ts";
import { tryEach } from "./trial.ts";

tryEach(sync);

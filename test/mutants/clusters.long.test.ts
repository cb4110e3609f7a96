/** Deliberate breakages of joined clusters. */
import { clusters } from "./clusters.ts";
import { tryEach } from "./trial.ts";

tryEach(clusters);

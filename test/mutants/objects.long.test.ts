/** Deliberate breakages of the objects that are made in a cluster, and of what is read there. */
import { objects } from "./objects.ts";
import { tryEach } from "./trial.ts";

tryEach(objects);

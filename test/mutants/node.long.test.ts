/** Deliberate breakages of what is written on a node. */
import { node } from "./node.ts";
import { tryEach } from "./trial.ts";

tryEach(node);
